//! The pacer of a leg, and the timers of all pacers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use dataplane::LegId;
use pacing::Pacer;

use crate::shard::packet::Packet;
use crate::shard::rewrite::Rewrite;

/// A leg's pacer.
pub(crate) struct Pace {
    pub(crate) pacer: Pacer<Waiting>,
    /// When it is due in [`PaceTimers`]. Entries there with another time are out of date.
    pub(crate) scheduled: Option<Instant>,
}

/// A packet that waits in a pacer.
pub(crate) struct Waiting {
    pub(crate) packet: Arc<Packet>,
    /// The slot of its replica. Its packets are dropped with it.
    pub(crate) replica: usize,
    pub(crate) rewrite: Rewrite,
}

impl Pace {
    pub(crate) fn new(now: Instant, pace: u64) -> Self {
        Pace {
            pacer: Pacer::new(now, pace),
            scheduled: None,
        }
    }

    /// Records sent bytes; returns the probe they are part of.
    pub(crate) fn sent(&mut self, now: Instant, bytes: usize) -> Option<u32> {
        self.pacer.left(now, bytes)
    }

    /// Drops the waiting packets of a removed replica.
    pub(crate) fn forget(&mut self, replica: usize) {
        self.pacer.retain(|waiting| waiting.replica != replica);
    }
}

/// The legs with waiting packets, by the time they are due.
#[derive(Default)]
pub(crate) struct PaceTimers(pub(crate) BinaryHeap<Reverse<(Instant, LegId)>>);

impl PaceTimers {
    /// When the next leg is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, LegId)> {
        self.next().filter(|at| *at <= now)?;
        self.0.pop().map(|Reverse(wake)| wake)
    }
}
