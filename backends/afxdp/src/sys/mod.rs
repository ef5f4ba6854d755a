//! The operating system: AF_XDP sockets and their rings, netlink, interfaces. Everything `unsafe`
//! in this crate is below here.

#![allow(unsafe_code, reason = "system calls need it")]

mod interface;
mod memory;
mod netlink;
mod poll;
mod ring;
mod xsk;

pub(crate) use interface::queues;
pub(crate) use netlink::NetlinkSocket;
pub(crate) use poll::readable;
pub(crate) use xsk::{Checksum, Mode, Xsk, XskCounts};

use std::io;

/// The result of a system call, with its error where it is negative.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}
