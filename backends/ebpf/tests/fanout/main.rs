//! Copies made in the kernel, held to the model.

#![allow(clippy::disallowed_methods, reason = "tests wait in real time")]

mod device;
mod frame;
mod vectors;
