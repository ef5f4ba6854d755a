//! One local UDP port with a socket of its own.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;

use super::address::{Family, RawAddress};
use super::socket::check;

/// Bytes of a port's receive buffer as the kernel counts them, its own overhead included: about a
/// hundred packets of video, or more than a second of a call.
const RECEIVE_BUFFER: i32 = 256 << 10;
/// The index of the count of drops in SO_MEMINFO, and the number of counts (linux/sock_diag.h).
const MEMINFO_DROPS: usize = 8;
const MEMINFO_VARS: usize = 9;

/// A socket that is bound to exactly one address and port, which no other socket shares.
#[derive(Debug)]
pub(crate) struct PortSocket {
    fd: OwnedFd,
    family: Family,
    /// Dropped after the descriptor, as it is declared after it.
    closed: Closed,
}

/// Tells when a socket is closed, which is later than when its last owner has let go of it: that
/// thread may be interrupted in between.
#[derive(Debug, Default)]
struct Closed(Arc<AtomicBool>);

/// A view of a socket that does not keep it open.
#[derive(Debug)]
pub(crate) struct PortWatch {
    socket: Weak<PortSocket>,
    closed: Arc<AtomicBool>,
}

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl PortWatch {
    pub(crate) fn new(socket: &Arc<PortSocket>) -> Self {
        PortWatch {
            socket: Arc::downgrade(socket),
            closed: socket.closed.0.clone(),
        }
    }

    /// The socket, while it is open. If it is being closed, this returns once its port is free:
    /// another thread has nothing but one system call left to do.
    pub(crate) fn open_or_closed(&self) -> Option<Arc<PortSocket>> {
        let socket = self.socket.upgrade();
        while socket.is_none() && !self.closed.load(Ordering::Acquire) {
            thread::yield_now();
        }
        socket
    }
}

impl PortSocket {
    /// Opens the port.
    ///
    /// Errors: the operating system's.
    pub(crate) fn open(at: SocketAddr) -> io::Result<Self> {
        let (family, domain) = match at {
            SocketAddr::V4(_) => (Family::V4, libc::AF_INET),
            SocketAddr::V6(_) => (Family::V6, libc::AF_INET6),
        };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes numbers only.
        let fd = check(unsafe { libc::socket(domain, kind, 0) })?;
        let socket = PortSocket {
            // SAFETY: the descriptor is new, and nobody else's.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            family,
            closed: Closed::default(),
        };
        if family == Family::V6 {
            socket.set(libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
        }
        // Without the privilege the system's own limit does.
        let _ = socket
            .set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
            .or_else(|_| socket.set(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER));
        let raw = RawAddress::new(at, family);
        // SAFETY: the address is `len` valid bytes for the time of the call.
        check(unsafe { libc::bind(socket.raw(), (&raw const raw.storage).cast(), raw.len) })?;
        Ok(socket)
    }

    /// Sends one datagram, at once or not at all; whether it was.
    pub(crate) fn send(&self, to: SocketAddr, tos: Option<u8>, datagram: &[u8]) -> bool {
        let address = RawAddress::new(to, self.family);
        let sent = match tos {
            None => {
                // SAFETY: datagram and address are read where they are, with their own lengths, and
                // outlive the call.
                unsafe {
                    libc::sendto(
                        self.raw(),
                        datagram.as_ptr().cast(),
                        datagram.len(),
                        libc::MSG_DONTWAIT,
                        (&raw const address.storage).cast(),
                        address.len,
                    )
                }
            }
            Some(tos) => self.send_marked(&address, tos, datagram),
        };
        usize::try_from(sent).is_ok_and(|sent| sent == datagram.len())
    }

    /// As [`send`](Self::send), with differentiated services of its own.
    fn send_marked(&self, address: &RawAddress, tos: u8, datagram: &[u8]) -> isize {
        let mut buffer = super::cmsg::CmsgBuffer([0; 192]);
        let control_len = super::cmsg::write_tos(&mut buffer, self.family, tos);
        let mut vector = libc::iovec {
            // The kernel only reads it.
            iov_base: datagram.as_ptr().cast_mut().cast(),
            iov_len: datagram.len(),
        };
        // SAFETY: a msghdr of zeros is a valid value: no address, no buffers.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_name = (&raw const address.storage).cast_mut().cast();
        header.msg_namelen = address.len;
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        header.msg_control = buffer.0.as_mut_ptr().cast();
        header.msg_controllen = control_len as _;
        // SAFETY: every pointer was set just now to what lives as long as the call, with its
        // length.
        unsafe { libc::sendmsg(self.raw(), &raw const header, libc::MSG_DONTWAIT) }
    }

    /// Reads one datagram: its true length, which is larger than the buffer when it was truncated,
    /// and its source. It reads one at a time, because a port of a call usually has at most one,
    /// and a call for several costs a tenth more for one.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let mut address = RawAddress::empty();
        // SAFETY: buffer and address are written where they are, with their own lengths, and
        // outlive the call.
        let len = unsafe {
            libc::recvfrom(
                self.raw(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                (&raw mut address.storage).cast(),
                &raw mut address.len,
            )
        };
        Some((usize::try_from(len).ok()?, address.read()?))
    }

    /// How many datagrams found the buffer full so far.
    pub(crate) fn overflows(&self) -> u64 {
        let mut counts = [0_u32; MEMINFO_VARS];
        let mut len = mem::size_of_val(&counts) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes to an array that lives as long as the call.
        let result = unsafe {
            libc::getsockopt(
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                counts.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        if result == 0 { counts[MEMINFO_DROPS].into() } else { 0 }
    }

    pub(super) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    fn set(&self, level: i32, option: i32, value: i32) -> io::Result<()> {
        let len = mem::size_of::<i32>() as libc::socklen_t;
        // SAFETY: the value is an int, and lives for the time of the call.
        check(unsafe { libc::setsockopt(self.raw(), level, option, (&raw const value).cast(), len) }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last owner of a socket is another thread, which may be between letting go of it and
    /// closing it when the port is wanted again.
    #[test]
    fn a_port_whose_socket_is_being_closed_is_free_after_a_short_wait() {
        // An address of its own: other tests get ports of the usual one at any time.
        let at = std::net::UdpSocket::bind("127.77.0.1:0").unwrap().local_addr().unwrap();
        for _ in 0..2_000 {
            let socket = Arc::new(PortSocket::open(at).unwrap());
            let watch = PortWatch::new(&socket);
            let other = thread::spawn(move || drop(socket));
            while watch.open_or_closed().is_some() {
                thread::yield_now();
            }
            PortSocket::open(at).unwrap();
            other.join().unwrap();
        }
    }
}
