//! A route netlink socket.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::check;

/// A socket that asks the kernel about interfaces, addresses, routes and neighbours, or hears of
/// changes.
pub(crate) struct NetlinkSocket(OwnedFd);

impl NetlinkSocket {
    /// Opens one that hears of changes in `groups` (`RTMGRP_...`), of none with 0.
    pub(crate) fn open(groups: u32) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: takes numbers only.
        let fd = check(unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) })?;
        // SAFETY: the descriptor is new, and nobody else's.
        let socket = NetlinkSocket(unsafe { OwnedFd::from_raw_fd(fd) });
        // SAFETY: an address of zeros is a valid value.
        let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups;
        let len = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        // SAFETY: the address is of this length and lives as long as the call.
        check(unsafe { libc::bind(fd, (&raw const address).cast(), len) })?;
        Ok(socket)
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Sends a request. Its answers can be received when this returns.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the buffer is `len` bytes and lives as long as the call.
        let sent = unsafe { libc::send(self.descriptor(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// The next datagram of messages; `WouldBlock` when there is none.
    pub(crate) fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        // SAFETY: the buffer has room for `len` bytes and lives as long as the call.
        let len = unsafe { libc::recv(self.descriptor(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(len) {
            Ok(len) => Ok(&buffer[..len]),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}
