//! The operating system: sockets, batches of datagrams, waking up. Everything `unsafe` in this crate is below here.

#![allow(unsafe_code)]

mod address;
mod control;
mod receive;
mod send;
mod sleep;
mod socket;

pub(crate) use receive::Receiver;
pub(crate) use send::Sender;
pub(crate) use sleep::{Bell, SOCKETS_MAX, sleep};
pub(crate) use socket::Socket;
