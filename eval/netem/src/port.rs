//! An interface, as a source and sink of Ethernet frames.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvfrom, send, setsockopt, socket,
    sockopt,
};

/// Receive buffer in the kernel, for the time that we are busy.
const RECEIVE_BUFFER: usize = 8 << 20;
/// `PACKET_OUTGOING`: a frame that this machine sends on the interface, which the socket shows too.
const OUTGOING: u8 = 4;

/// One interface. It must be in promiscuous mode, or frames for others are not shown.
pub struct Port {
    socket: OwnedFd,
}

/// The reason that there is no port; the user of the relay must act.
#[derive(Debug)]
pub enum PortError {
    /// There is no such interface in this network namespace.
    Unknown(String),
    /// The kernel refuses; without root, this is why.
    Refused(String, Errno),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::Unknown(name) => write!(f, "no Ethernet interface {name} in this network namespace"),
            PortError::Refused(name, Errno::EPERM) => write!(f, "{name}: raw frames need root (CAP_NET_RAW)"),
            PortError::Refused(name, error) => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for PortError {}

impl Port {
    /// Opens the interface of this name.
    pub fn open(name: &str) -> Result<Self, PortError> {
        let refused = |error| PortError::Refused(name.to_owned(), error);
        let address = link_address(name).ok_or_else(|| PortError::Unknown(name.to_owned()))?;
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC,
            SockProtocol::EthAll,
        )
        .map_err(refused)?;
        bind(socket.as_raw_fd(), &address).map_err(refused)?;
        setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER).map_err(refused)?;
        let port = Port { socket };
        // Between the two calls the socket heard every interface.
        while port.receive(&mut [0; 1]).map_err(refused)?.is_some() {}
        Ok(port)
    }

    /// The next frame, if there is one; its length. A frame longer than the buffer is cut off: 64
    /// kB are always enough.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, Errno> {
        loop {
            match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), buffer) {
                Ok((_, Some(from))) if from.pkttype() == OUTGOING => {}
                Ok((length, _)) => return Ok(Some(length)),
                Err(Errno::EAGAIN) => return Ok(None),
                // An interface that goes down for a moment is a cable pulled out for a moment.
                Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a frame; returns whether the interface took it. It does not if its own queue is full,
    /// as with `tc`.
    pub fn send(&self, frame: &[u8]) -> Result<bool, Errno> {
        match send(self.socket.as_raw_fd(), frame, MsgFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::ENETDOWN | Errno::EMSGSIZE) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<PortError> for io::Error {
    fn from(error: PortError) -> Self {
        io::Error::other(error)
    }
}

fn link_address(name: &str) -> Option<LinkAddr> {
    getifaddrs()
        .ok()?
        .filter(|interface| interface.interface_name == name)
        .find_map(|interface| interface.address?.as_link_addr().copied())
}
