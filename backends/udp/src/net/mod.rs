//! The operating system: sockets, batches of datagrams, waking up. Everything `unsafe` in this crate is below here.

#![allow(unsafe_code)]

mod address;
mod control;
mod receive;
mod send;
mod sleep;
mod socket;
mod sockets;

pub use sleep::Bell;
pub use sockets::Sockets;
