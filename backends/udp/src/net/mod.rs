//! The operating system: sockets, batches of datagrams, waking up. Everything `unsafe` in this crate is below here.

#![allow(unsafe_code)]

mod address;
mod control;
mod door;
mod files;
mod patient;
mod poller;
mod port;
mod receive;
mod send;
mod sleep;
mod socket;
mod sockets;

pub(crate) use door::{Door, ThreadTime};
pub(crate) use files::raise_open_files;
pub(crate) use poller::Poller;
pub(crate) use port::PortSocket;
pub use sleep::Bell;
pub use sockets::Sockets;
