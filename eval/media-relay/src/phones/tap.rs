//! The network card of all phones: one socket that sends and receives whole frames.
//!
//! A phone has a port of its own, but giving it a socket too would cost more than the relay does;
//! only the packets on the cable matter to the relay. The phones' Ethernet address belongs to no
//! interface, so that the kernel drops frames that it has given us without further processing.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, bind,
    recvmmsg, send, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::xdp::{Attached, Program};

/// Frames read by one system call.
const BATCH_MAX: usize = 64;
/// More than any frame that is ours.
const BUFFER_LEN: usize = 256;
/// Receive buffer in the kernel: a second of 2,000 calls.
const RECEIVE_BUFFER_BYTES: usize = 256 << 20;

/// A socket on one interface.
pub(crate) struct Tap {
    socket: OwnedFd,
    _attached: Attached,
    buffers: Vec<[u8; BUFFER_LEN]>,
    dropped: u32,
}

impl Tap {
    /// Opens it.
    ///
    /// Errors: there is no such interface, or no permission.
    pub(crate) fn open(interface: &str) -> io::Result<Self> {
        let link = getifaddrs()?
            .filter(|it| it.interface_name == interface)
            .find_map(|it| it.address?.as_link_addr().copied());
        let link: LinkAddr = link.ok_or_else(|| io::Error::other(format!("there is no interface {interface}")))?;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Only this protocol: frames that leave the interface are not returned to us.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthIp)?;
        bind(socket.as_raw_fd(), &link)?;
        setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        Ok(Self {
            socket,
            _attached: Attached::to(interface, Program::Pass)?,
            buffers: vec![[0; BUFFER_LEN]; BATCH_MAX],
            dropped: 0,
        })
    }

    /// Sends a frame; returns whether the kernel took it.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<bool> {
        match send(self.socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands over arrived frames, with the kernel's stamp in nanoseconds since 1970; returns
    /// whether there may be more.
    pub(crate) fn read(&mut self, mut handle: impl FnMut(&[u8], u64)) -> io::Result<bool> {
        let mut arrived = [(0, 0); BATCH_MAX];
        let count = self.read_batch(&mut arrived)?;
        for (buffer, (len, at)) in self.buffers.iter().zip(&arrived[..count]) {
            handle(&buffer[..(*len).min(BUFFER_LEN)], *at);
        }
        Ok(count == BATCH_MAX)
    }

    /// Frames that the kernel could not hold for us.
    pub(crate) fn dropped(&self) -> u32 {
        self.dropped
    }

    fn read_batch(&mut self, arrived: &mut [(usize, u64); BATCH_MAX]) -> io::Result<usize> {
        // Headers are created for each call: the kernel shortens the control lengths of used ones.
        let control = nix::cmsg_space!(TimeSpec, u32);
        let mut headers = MultiHeaders::<()>::preallocate(BATCH_MAX, Some(control));
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = self
            .buffers
            .iter_mut()
            .map(|buffer| [IoSliceMut::new(buffer)])
            .collect();
        let results = match recvmmsg(
            self.socket.as_raw_fd(),
            &mut headers,
            slices.iter_mut(),
            MsgFlags::MSG_DONTWAIT,
            None,
        ) {
            Ok(results) => results,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let mut count = 0;
        for (slot, result) in arrived.iter_mut().zip(results) {
            *slot = (result.bytes, 0);
            for control in result.cmsgs()? {
                match control {
                    ControlMessageOwned::ScmTimestampns(at) => slot.1 = Duration::from(at).as_nanos() as u64,
                    ControlMessageOwned::RxqOvfl(dropped) => self.dropped = dropped,
                    _ => {}
                }
            }
            count += 1;
        }
        Ok(count)
    }
}
