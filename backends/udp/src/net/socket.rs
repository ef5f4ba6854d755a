//! One UDP socket of one worker, which may share its port with the other workers' sockets.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::address::{Family, RawAddress};

/// A bound socket.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    pub(super) family: Family,
    local: SocketAddr,
    /// Whether the kernel segments runs for us.
    pub(super) segments: bool,
}

impl Socket {
    /// Binds to `address`. `[::]` takes IPv4 too, unless `v6_only`; where the machine has no IPv6
    /// it becomes `0.0.0.0`.
    pub(crate) fn bind(
        address: SocketAddr,
        v6_only: bool,
        receive_buffer: usize,
        send_buffer: usize,
    ) -> io::Result<Self> {
        match Self::bind_exactly(address, v6_only, receive_buffer, send_buffer) {
            Err(error) if address.ip().is_unspecified() && address.is_ipv6() && has_no_ipv6(&error) => {
                let address = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
                Self::bind_exactly(address, v6_only, receive_buffer, send_buffer)
            }
            bound => bound,
        }
    }

    fn bind_exactly(address: SocketAddr, v6_only: bool, receive_buffer: usize, send_buffer: usize) -> io::Result<Self> {
        let address = with_port(address)?;
        let family = if address.is_ipv4() { Family::V4 } else { Family::V6 };
        let domain = if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        // SAFETY: takes numbers only.
        let fd =
            check(unsafe { libc::socket(domain, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) })?;
        let mut socket = Socket {
            // SAFETY: the descriptor is new, and nobody else's.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            family,
            local: address,
            segments: false,
        };
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        match family {
            Family::V4 => socket.set(libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?,
            Family::V6 => {
                socket.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, i32::from(v6_only))?;
                socket.set(libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
            }
        }
        socket.set_buffer(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, receive_buffer)?;
        socket.set_buffer(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, send_buffer)?;
        // Old kernels know none of these, and work without.
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
        let _ = socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        let _ = socket.set(libc::SOL_UDP, libc::UDP_GRO, 1);
        socket.segments = socket.set(libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        let raw = RawAddress::new(address, family);
        // SAFETY: the address is `len` valid bytes for the time of the call.
        check(unsafe { libc::bind(socket.raw(), (&raw const raw.storage).cast(), raw.len) })?;
        socket.local = socket.bound_to()?;
        Ok(socket)
    }

    /// The address it is bound to, its port a real one.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether a datagram from this local address can be sent here.
    pub(super) fn can_send_from(&self, local: SocketAddr) -> bool {
        let (bound, ip) = (self.local.ip(), local.ip());
        let is_any = bound.is_unspecified() && (bound.is_ipv4() == ip.is_ipv4() || bound.is_ipv6());
        self.local.port() == local.port() && (bound == ip || is_any)
    }

    pub(super) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Another descriptor of the same socket.
    pub(super) fn share(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    fn bound_to(&self) -> io::Result<SocketAddr> {
        let mut raw = RawAddress::empty();
        // SAFETY: the storage has room for `len` bytes, and both live for the time of the call.
        check(unsafe { libc::getsockname(self.raw(), (&raw mut raw.storage).cast(), &mut raw.len) })?;
        match (self.family, raw.read()) {
            // `[::]` reads as itself; nothing that is bound is a mapped address.
            (_, Some(address)) => Ok(address),
            (_, None) => Err(io::Error::from(io::ErrorKind::AddrNotAvailable)),
        }
    }

    /// Sets a buffer's size past the system's limit if we may, else up to it.
    fn set_buffer(&self, force: i32, plain: i32, bytes: usize) -> io::Result<()> {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.set(libc::SOL_SOCKET, force, bytes)
            .or_else(|_| self.set(libc::SOL_SOCKET, plain, bytes))
    }

    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        set_option(self.raw(), level, option, value)
    }
}

/// The address with a port that no socket has, where the system is to choose one. A socket that
/// shares its port could be given one that another shared socket of the same user has.
fn with_port(address: SocketAddr) -> io::Result<SocketAddr> {
    match address.port() {
        0 => UdpSocket::bind(address)?.local_addr(),
        _ => Ok(address),
    }
}

/// Sets an option of a socket whose value is a number.
pub(super) fn set_option(socket: RawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let len = mem::size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value is an int, and lives for the time of the call.
    check(unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), len) }).map(drop)
}

/// Whether binding to an IPv6 address failed because this machine has no IPv6.
pub(super) fn has_no_ipv6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

/// The result of a system call, with its error where it is negative.
pub(super) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}
