//! Packets that are sent again more than once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use southbound::SubscriptionId;

/// Distance between the copies of a packet that is sent again more than once: a path with random
/// loss often loses a few packets in a row.
pub(super) const SPREAD: Duration = Duration::from_millis(20);

/// Repeated packets that wait to be sent to one receiver, ordered by time.
#[derive(Debug, Default)]
pub(super) struct Copies(VecDeque<Copy>);

/// Packets of one subscription that are sent again together.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) at: Instant,
    pub(super) subscription: SubscriptionId,
    pub(super) sequences: Vec<u16>,
    /// How often, this time included.
    pub(super) left: u32,
}

impl Copies {
    pub(super) fn push(&mut self, copy: Copy) {
        self.0.push_back(copy);
    }

    /// Takes the next that is to be sent by now.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Copy> {
        self.0.pop_front_if(|copy| copy.at <= now)
    }

    /// When the next is to be sent.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.front().map(|copy| copy.at)
    }
}
