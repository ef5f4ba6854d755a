//! Relays: datagrams that arrive at one port are sent from another.
//!
//! They share only the reports to the agent with legs. Each relay has a socket of its own, and
//! separate workers, which are started with the first relay, serve all of them. From the packet up:
//!
//! 1. [`port`] is one relay: it takes a datagram step by step as the contract counts them.
//!    [`keystream`] seals for its hops, and is shared by all hops with the same key.
//! 2. A [`RelayShard`] is all relays of one worker, without socket, clock or thread: datagrams and
//!    commands in, datagrams out through a [`RelaySocket`].
//! 3. [`Relays`] is the control handle's part: it opens ports, chooses workers, and keeps the
//!    keystream of each key.
//! 4. [`worker`] gives a relay shard a thread and a poller.
//! 5. [`bypass`] is another way in and out, for networks that receive datagrams before the sockets.
//!
//! Any worker may send from a port that another one receives at. Sealing with one key is behind a
//! lock of its own, which is nearly always taken by one worker only.

mod bypass;
mod keyring;
mod keystream;
mod port;
mod shard;
mod table;
mod worker;

use std::io;
use std::net::SocketAddr;

use dataplane::Path;
use dataplane::limits::DATAGRAM_MAX;

pub use bypass::RtpBypass;
pub(crate) use bypass::{BypassLink, BypassPorts, BypassWorker};
pub(crate) use shard::{RelayShard, RelaySlot, SocketRegistry};
pub(crate) use table::{RELAYS_MAX, Relays};
pub(crate) use worker::RelayWorkers;

/// The buffer of a datagram in bytes: one more than the limit, so that too long datagrams are
/// recognised, and room for the longest authentication tag and index.
pub(crate) const BUFFER: usize = DATAGRAM_MAX + 1 + 20;

/// An open port to send from.
pub(crate) trait RelaySocket: Clone {
    /// Sends one datagram; false when it could not be sent.
    fn send(&self, to: SocketAddr, tos: Option<u8>, bytes: &[u8]) -> bool;

    /// How many datagrams the socket has dropped so far because they were not read in time.
    fn overflows(&self) -> u64;
}

/// Sends the datagrams of relays.
pub(crate) trait RelayEgress<D> {
    /// Sends one datagram on `path`, which begins at `socket`; false when it could not be sent.
    fn send(&mut self, socket: &D, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool;
}

/// Sends by the port's socket at once.
pub(crate) struct Immediate;

impl<D: RelaySocket> RelayEgress<D> for Immediate {
    fn send(&mut self, socket: &D, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool {
        socket.send(path.remote, tos, datagram)
    }
}

/// Opens ports.
pub(crate) trait SocketFactory {
    type Socket: RelaySocket;

    /// Opens exactly this port.
    ///
    /// Errors: the operating system's.
    fn open(&mut self, at: SocketAddr) -> io::Result<Self::Socket>;
}
