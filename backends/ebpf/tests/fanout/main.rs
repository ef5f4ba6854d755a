//! Copies made in the kernel, held to the model.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod cable;
mod device;
mod driver;
mod frame;
mod full;
mod histories;
#[path = "../support/kept.rs"]
mod kept;
mod layers;
mod moving;
mod moving_live;
mod numbers;
mod pairs;
mod pins;
mod stamps;
mod trunks;
mod vectors;
