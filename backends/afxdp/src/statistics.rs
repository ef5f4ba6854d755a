//! Counts of packets by ring and by socket, and the reasons for sockets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dataplane::Family;

counting::counters! {
    /// The counters of this back end, besides those of every data plane.
    pub enum Counter {
        /// Frames received through a ring.
        Received = "received",
        /// Frames that the XDP program should not have taken; they were dropped.
        Unreadable = "unreadable",
        /// Datagrams that went out through a ring.
        Sent = "sent",
        /// Sent by socket: this path was not asked for before, or the next hop's hardware address
        /// is not known, or the route is through an interface without a ring of this worker.
        SocketNoHop = "socket_no_hop",
        /// Sent by socket: longer than the interface or the path takes in one piece.
        SocketTooLong = "socket_too_long",
        /// Sent by socket: every frame was on its way.
        SocketRingFull = "socket_ring_full",
        /// Sent by socket: so many to one receiver at a time that segmenting costs less than a ring
        /// that copies.
        SocketLongRun = "socket_long_run",
        /// Sent by socket: no leg's, so STUN or DTLS.
        SocketNoLeg = "socket_no_leg",
    }
}

/// One worker's page of counters: written by that worker alone, readable from everywhere.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Page([AtomicU64; Counter::ALL.len()]);

impl Page {
    pub(crate) fn add(&self, counter: Counter, more: usize) {
        let cell = &self.0[counter as usize];
        cell.store(cell.load(Ordering::Relaxed) + more as u64, Ordering::Relaxed);
    }
}

/// Reads what all workers counted.
#[derive(Clone, Debug)]
pub struct Statistics(pub(crate) Arc<[Arc<Page>]>);

impl Statistics {
    /// The sum so far.
    pub fn read(&self) -> Counters {
        let mut sum = Counters::default();
        for page in &*self.0 {
            for counter in Counter::ALL {
                sum[*counter] += page.0[*counter as usize].load(Ordering::Relaxed);
            }
        }
        sum
    }
}

impl dataplane::Statistics for Statistics {
    fn families(&self) -> Vec<Family> {
        let counts = self.read();
        let counts = counts.iter().map(|(counter, value)| (counter.name(), value));
        vec![Family::by_reason(
            "afxdp",
            "Packets by AF_XDP rings and by sockets beside them, by reason",
            counts,
        )]
    }
}
