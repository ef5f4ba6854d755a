//! TCP sockets for media.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use super::address::{Family, RawAddress};
use super::socket::{check, has_no_ipv6, set_option};

/// Connections that the kernel has made and nobody has accepted. More are refused by it.
const BACKLOG: i32 = 512;

/// Opens a port for connections, which does not block. `[::]` takes IPv4 too, unless `v6_only`.
/// On a machine without IPv6 it becomes `0.0.0.0`, and with `v6_only` there is none.
///
/// Errors: the operating system's.
pub(crate) fn listen(address: SocketAddr, v6_only: bool) -> io::Result<Option<TcpListener>> {
    match listen_exactly(address, v6_only) {
        Err(error) if address.ip().is_unspecified() && address.is_ipv6() && has_no_ipv6(&error) => {
            let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
            (!v6_only).then(|| listen_exactly(v4, v6_only)).transpose()
        }
        opened => opened.map(Some),
    }
}

fn listen_exactly(address: SocketAddr, v6_only: bool) -> io::Result<TcpListener> {
    let (family, domain) = match address {
        SocketAddr::V4(_) => (Family::V4, libc::AF_INET),
        SocketAddr::V6(_) => (Family::V6, libc::AF_INET6),
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only.
    let fd = check(unsafe { libc::socket(domain, kind, 0) })?;
    // SAFETY: the descriptor is new, and nobody else's.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let raw_fd = fd.as_raw_fd();
    // Connections of a process before this one do not keep the port.
    set_option(raw_fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    if family == Family::V6 {
        set_option(raw_fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, i32::from(v6_only))?;
    }
    let raw = RawAddress::new(address, family);
    // SAFETY: the address is `len` valid bytes for the time of the call.
    check(unsafe { libc::bind(raw_fd, (&raw const raw.storage).cast(), raw.len) })?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::listen(raw_fd, BACKLOG) })?;
    Ok(TcpListener::from(fd))
}

/// Prepares a connection for media: it does not block, sends at once, holds at most
/// `unsent` bytes that it has not sent, and fails when its other end acknowledges nothing for
/// `dead_after`.
///
/// Errors: the operating system's.
pub(crate) fn tune(stream: &TcpStream, unsent: i32, dead_after: Duration) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    let fd = stream.as_raw_fd();
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, unsent)?;
    let milliseconds = i32::try_from(dead_after.as_millis()).unwrap_or(i32::MAX);
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, milliseconds)
}
