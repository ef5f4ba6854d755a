//! The UDP port that all workers share.

use std::io;
use std::net::SocketAddr;

use super::reuseport::{ReuseportGroup, Steering};
use super::sockets::Sockets;
use crate::UdpConfig;

/// The port that workers share, and the kernel's choice among their sockets.
#[derive(Debug)]
pub struct UdpPorts {
    local: Vec<SocketAddr>,
    /// `None` where the kernel does not take programs and its own hash decides, or where receive
    /// queues decide.
    group: Option<ReuseportGroup>,
}

impl UdpPorts {
    /// Binds a socket for each worker on every address, in the order of workers; all share one port
    /// where the system was to choose.
    ///
    /// Errors: the operating system's; `InvalidInput` for no addresses, or too many.
    pub fn open(config: &UdpConfig, workers: usize) -> io::Result<(UdpPorts, Vec<Sockets>)> {
        let mut sockets = Sockets::bind(config, workers)?;
        let local = sockets[0].local_addrs();
        let group = Sockets::open_group(&mut sockets, config);
        Ok((UdpPorts { local, group }, sockets))
    }

    /// The addresses they are bound to, with their real port.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local
    }

    /// Steers the datagrams of an interface's receive queue q to worker q modulo the number of
    /// workers, and datagrams without a queue by their source port. Legs are not packed onto
    /// workers then.
    ///
    /// Errors: the operating system's, where it does not take programs.
    pub fn steer_by_queue(&mut self) -> io::Result<()> {
        let group = self.group.take().ok_or(io::ErrorKind::Unsupported)?;
        // The kernel keeps the program as long as there are sockets.
        group.steer(&[], Steering::ByQueue)
    }

    /// The addresses, and the group whose steering may be changed, if any.
    pub(crate) fn into_parts(self) -> (Vec<SocketAddr>, Option<ReuseportGroup>) {
        (self.local, self.group)
    }
}
