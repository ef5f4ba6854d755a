//! The key frame that arrives before a leg has keys.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::{EARLY_MAX, EARLY_PACKETS_MAX};
use wire::MediaKind;

use crate::shard::packet::Packet;
use crate::shard::packet::pool::Pool;
use crate::shard::replica::ReplicaState;

/// The first packet of a key frame and those after it, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Early(VecDeque<Arc<Packet>>);

impl Early {
    /// Keeps a packet, if it is the first of a key frame or comes after one that is kept. Returns
    /// how many packets are forgotten because of a limit.
    fn keep(&mut self, packet: &Arc<Packet>, pool: &mut Pool) -> usize {
        let info = packet.info();
        let begins = info.newest && info.starts;
        let first = self.0.front().map(|first| first.info());
        let is_replaced = first.is_some_and(|first| begins && first.timestamp != info.timestamp);
        let is_at_limit = self.0.len() >= EARLY_PACKETS_MAX || !self.is_recent(info.at);
        let forgotten = if is_at_limit && !is_replaced { self.0.len() } else { 0 };
        if is_at_limit || is_replaced {
            self.0.drain(..).for_each(|packet| pool.give(packet));
        }
        if begins || !self.0.is_empty() {
            self.0.push_back(packet.clone());
        }
        forgotten
    }

    /// Forgets all packets. Returns how many there were.
    pub(crate) fn forget(&mut self) -> usize {
        std::mem::take(&mut self.0).len()
    }

    /// Whether the key frame is still worth sending.
    pub(crate) fn is_recent(&self, now: Instant) -> bool {
        let first = self.0.front();
        first.is_none_or(|first| now.saturating_duration_since(first.info().at) <= EARLY_MAX)
    }

    /// The first packet.
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.0.front().map(|packet| &**packet)
    }

    /// Takes the first packet. The memory of the list goes with the last one.
    pub(crate) fn pop(&mut self) -> Option<Arc<Packet>> {
        let packet = self.0.pop_front();
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
        packet
    }
}

impl ReplicaState {
    /// Keeps a packet of its source for a leg whose keys are pending. Returns how many packets are
    /// forgotten because of a limit.
    pub(crate) fn keep_early(&mut self, packet: &Arc<Packet>, pool: &mut Pool) -> usize {
        let is_to_begin = self.current.is_none() && !self.released && self.continues.is_none();
        match is_to_begin && packet.info().kind == MediaKind::Video {
            true => self.early.keep(packet, pool),
            false => 0,
        }
    }
}
