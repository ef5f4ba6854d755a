//! What all workers' sockets have in common.

use std::io;
use std::net::SocketAddr;

use super::door::{Door, Led};
use super::sockets::Sockets;
use crate::UdpConfig;

/// The port that workers share, and which of their sockets hears what arrives there.
#[derive(Debug)]
pub struct Entrance {
    local: Vec<SocketAddr>,
    /// `None` where the kernel cannot be told, and addresses decide, or where queues do.
    door: Option<Door>,
}

impl Entrance {
    /// Binds a socket for each worker on every address, in the order of workers; all share one port
    /// where the system was to choose.
    ///
    /// Errors: the operating system's; `InvalidInput` for no addresses, or too many.
    pub fn open(config: &UdpConfig, workers: usize) -> io::Result<(Entrance, Vec<Sockets>)> {
        let mut sockets = Sockets::bind(config, workers)?;
        let local = sockets[0].local_addrs();
        let door = Sockets::open_door(&mut sockets, config);
        Ok((Entrance { local, door }, sockets))
    }

    /// What they are bound to, with their real port.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.local
    }

    /// From now on what comes by an interface's receive queue q is heard by worker q, counted
    /// round, and what came by none by whom addresses say. Nobody is gathered then.
    ///
    /// Errors: the operating system's, where it does not take programs.
    pub fn lead_by_queue(&mut self) -> io::Result<()> {
        let door = self.door.take().ok_or(io::ErrorKind::Unsupported)?;
        // The kernel keeps what it was told for as long as there are sockets.
        door.lead(&[], Led::ByQueue)
    }

    /// The addresses, and what decides who hears those who are new, where somebody may.
    pub(crate) fn into_parts(self) -> (Vec<SocketAddr>, Option<Door>) {
        (self.local, self.door)
    }
}
