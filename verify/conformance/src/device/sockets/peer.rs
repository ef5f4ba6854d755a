//! Peers of a device, each a socket of its own.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};

/// The longest datagram that is read whole.
const DATAGRAM_MAX: usize = 4_096;

/// A peer's socket, which is told the services of what arrives.
pub(super) struct Peer {
    pub(super) socket: UdpSocket,
    /// The harness's name of the device's address for this peer, but for relays.
    pub(super) device: SocketAddr,
}

/// A datagram that arrived at a peer.
pub(super) struct Received {
    pub(super) from: SocketAddr,
    pub(super) bytes: Vec<u8>,
    /// The octet of services (RFC 2474), or the traffic class.
    pub(super) tos: u8,
}

impl Peer {
    /// At an address and any port.
    ///
    /// Errors: the operating system's.
    pub(super) fn bind(at: SocketAddr, device: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(at)?;
        socket.set_nonblocking(true)?;
        match at {
            SocketAddr::V4(_) => setsockopt(&socket, IpRecvTos, &true)?,
            SocketAddr::V6(_) => setsockopt(&socket, Ipv6RecvTClass, &true)?,
        }
        Ok(Peer { socket, device })
    }

    /// The next datagram, if one has arrived.
    pub(super) fn receive(&self) -> Option<Received> {
        let mut bytes = [0; DATAGRAM_MAX];
        let mut control = nix::cmsg_space!(i32);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let message = recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut slices,
            Some(&mut control),
            MsgFlags::empty(),
        )
        .ok()?;
        let tos = message.cmsgs().ok()?.find_map(|control| match control {
            ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
            ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
            _ => None,
        });
        let (len, address) = (message.bytes, message.address?);
        let from = match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
            (Some(v4), _) => SocketAddr::V4((*v4).into()),
            (_, Some(v6)) => SocketAddr::V6((*v6).into()),
            _ => return None,
        };
        Some(Received {
            from,
            bytes: bytes[..len].to_vec(),
            tos: tos.expect("it was asked for"),
        })
    }
}
