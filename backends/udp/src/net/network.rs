//! The face of a network to a worker.

use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use dataplane::Path;

use super::EventFd;
use crate::shard::Transmit;

/// The network that one worker receives from and sends through.
pub trait Network: Transmit + Send + 'static {
    /// Receives at most one batch, and passes each datagram to `take` with its arrival time, which
    /// is `now` where it is unknown; returns how many there were.
    fn receive(&mut self, now: Instant, take: &mut impl FnMut(Instant, Path, &[u8])) -> usize;

    /// Makes the next call of [`receive`](Self::receive) read, though the last one read everything.
    fn expect_more(&mut self) {}

    /// How many datagrams were dropped since the last call because they were not read in time.
    fn take_dropped(&mut self) -> u64;

    /// Sleeps until something arrives, the event file descriptor is signalled, the descriptor
    /// `beside` the network's own has something to read, or the time is up.
    fn sleep(&mut self, event_fd: &EventFd, beside: Option<RawFd>, at_most: Option<Duration>);

    /// Queues a datagram from a port which need not be the network's own, with these differentiated
    /// services; false when the network cannot send it, and the port's socket has to.
    fn queue(&mut self, path: &Path, tos: Option<u8>, datagram: &[u8]) -> bool {
        let _ = (path, tos, datagram);
        false
    }

    /// Sends all queued datagrams.
    fn send_queued(&mut self) {}
}
