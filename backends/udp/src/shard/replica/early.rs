//! The key frame that arrives before a leg has keys.

use std::sync::Arc;
use std::time::Instant;

use dataplane::limits::{EARLY_MAX, EARLY_PACKETS_MAX};
use wire::MediaKind;

use crate::shard::packet::Packet;
use crate::shard::replica::ReplicaState;

/// The first packet of a key frame and those after it, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Early(Vec<Arc<Packet>>);

impl Early {
    /// Keeps a packet, if it is the first of a key frame or comes after one that is kept.
    fn keep(&mut self, packet: &Arc<Packet>) {
        let info = packet.info();
        let begins = info.newest && info.starts;
        let replaces = |first: &Packet| begins && first.info().timestamp != info.timestamp;
        let is_over = |first: &Packet| !is_recent(first, info.at) || replaces(first);
        if self.0.len() >= EARLY_PACKETS_MAX || self.0.first().is_some_and(|first| is_over(first)) {
            self.0.clear();
        }
        if begins || !self.0.is_empty() {
            self.0.push(packet.clone());
        }
    }

    pub(crate) fn forget(&mut self) {
        self.0 = Vec::new();
    }

    /// Takes the packets that are still worth sending.
    pub(crate) fn take(&mut self, now: Instant) -> Vec<Arc<Packet>> {
        let early = std::mem::take(&mut self.0);
        let is_worth = early.first().is_some_and(|first| is_recent(first, now));
        if is_worth { early } else { Vec::new() }
    }
}

impl ReplicaState {
    /// Keeps a packet of its source for a leg whose keys are pending.
    pub(crate) fn keep_early(&mut self, packet: &Arc<Packet>) {
        let is_to_begin = self.current.is_none() && !self.released && self.continues.is_none();
        if is_to_begin && packet.info().kind == MediaKind::Video {
            self.early.keep(packet);
        }
    }
}

fn is_recent(first: &Packet, now: Instant) -> bool {
    now.saturating_duration_since(first.info().at) <= EARLY_MAX
}
