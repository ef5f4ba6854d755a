//! Relays: what arrives at one port of ours leaves from another.
//!
//! They share nothing with legs but the way to the agent: each has a socket of its own, and workers
//! of their own serve all of them, which are started with the first. From the packet up:
//!
//! 1. [`port`] is one relay: what becomes of a datagram, step by step as the contract counts them.
//!    [`keystream`] is what its hops seal with, shared by whoever seals with the same key.
//! 2. A [`Desk`] is all relays of one worker, without socket, clock or thread: datagrams and orders
//!    in, datagrams out through a [`Door`].
//! 3. [`Relays`] is the control handle's part: it opens ports, chooses workers, and keeps what each
//!    key has sealed.
//! 4. [`worker`] gives a desk a thread and something to sleep on.
//! 5. [`tapped`] is another way in and out, for networks that take datagrams before sockets see
//!    them.
//!
//! A port that a worker receives at may be sent from by any other: the kernel sees to that. What
//! must not be done by two at once, sealing with one key, is behind a lock of its own that only
//! workers take, and nearly always one only.

mod desk;
mod inline;
mod keyring;
mod keystream;
mod port;
mod table;
mod tapped;
mod worker;

use std::io;
use std::net::SocketAddr;

use dataplane::Path;
use dataplane::limits::DATAGRAM_MAX;

pub(crate) use desk::{Desk, Watch};
pub(crate) use inline::{InlineDoor, InlineDoors, Unwatched};
pub(crate) use table::{RELAYS_MAX, Relays};
pub use tapped::Tap;
pub(crate) use tapped::{Taker, TakerLink, Tapped};
pub(crate) use worker::RelayWorkers;

/// Bytes that a desk is to be given room for with each datagram: one too many, so that a datagram
/// that is too long is seen to be, and what the longest authentication tag and index take.
pub(crate) const BUFFER: usize = DATAGRAM_MAX + 1 + 20;

/// An open port of ours, to send from.
pub(crate) trait Door: Clone {
    /// Sends one datagram; false when that could not be done.
    fn send(&self, to: SocketAddr, tos: Option<u8>, bytes: &[u8]) -> bool;

    /// How many datagrams were dropped at it so far because nobody took them in time.
    fn overflows(&self) -> u64;
}

/// What relays' datagrams leave by.
pub(crate) trait Outlet<D> {
    /// Sends one datagram on `path`, which begins at `door`; false when that could not be done.
    fn send(&mut self, door: &D, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool;
}

/// By its door, at once.
pub(crate) struct AtOnce;

impl<D: Door> Outlet<D> for AtOnce {
    fn send(&mut self, door: &D, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool {
        door.send(path.remote, tos, datagram)
    }
}

/// Opens ports.
pub(crate) trait Doors {
    type Door: Door;

    /// Opens exactly this port.
    ///
    /// Errors: the operating system's.
    fn open(&mut self, at: SocketAddr) -> io::Result<Self::Door>;
}
