//! The operating system: sockets, batches of datagrams, waking up. Everything `unsafe` in this
//! crate is below here.

#![allow(unsafe_code)]

mod address;
mod control;
mod door;
mod entrance;
mod files;
mod patient;
mod poller;
mod port;
mod precedence;
mod receive;
mod send;
mod sleep;
mod socket;
mod sockets;
mod thread_time;

pub(crate) use door::{Door, Led};
pub use entrance::Entrance;
pub(crate) use files::raise_open_files;
pub(crate) use poller::Poller;
pub(crate) use port::PortSocket;
pub(crate) use precedence::Precedence;
pub use sleep::Bell;
pub(crate) use sleep::wake_in_time;
pub use sockets::Sockets;
pub(crate) use thread_time::ThreadTime;
