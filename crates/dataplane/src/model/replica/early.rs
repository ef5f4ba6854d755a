//! The key frame that arrives before a leg has keys.
//!
//! The agent asks the publisher for a key frame while the receiver's handshake is under way. If the
//! key frame arrives first, it is kept with the packets after it, and sent when the keys are there.
//! Until then none of them is numbered, so that they can be forgotten without a trace.

use std::time::Instant;

use super::ReplicaState;
use crate::limits::{EARLY_MAX, EARLY_PACKETS_MAX};
use crate::model::Model;
use crate::model::stream::MediaPacket;
use crate::{Counter, LegId, Protection, ReplicaId};

impl Model {
    /// Sends what the replicas of a leg have kept for it, if it has keys now. It is forgotten if it
    /// is too old, or cannot be sent for lack of a path: packets after it are not kept.
    pub(in crate::model) fn send_early(&mut self, now: Instant, leg: LegId) {
        if self.legs[&leg].entry.protection == Protection::Pending {
            return;
        }
        let is_ready = self.legs[&leg].ready().is_some();
        let of_leg = self.replicas.iter().filter(|(_, replica)| replica.entry.leg == leg);
        let ids: Vec<ReplicaId> = of_leg.map(|(id, _)| *id).collect();
        let mut out = std::mem::take(&mut self.injected);
        for id in ids {
            let replica = self.replicas.get_mut(&id).expect("listed");
            let early = std::mem::take(&mut replica.early);
            if !(is_ready && is_recent(&early, now)) {
                self.counters[Counter::EarlyForgotten] += early.len() as u64;
                continue;
            }
            let Some(key) = replica.entry.source else { continue };
            for packet in early {
                self.offer(now, id, key, &packet, &mut out);
            }
        }
        self.injected = out;
    }
}

impl ReplicaState {
    /// Keeps a packet of its source for a leg whose keys are pending, if it is the first of a key
    /// frame or comes after one that is kept. Returns how many packets are forgotten because of a
    /// limit.
    pub(in crate::model) fn keep_early(&mut self, packet: &MediaPacket) -> usize {
        if self.current.is_some() || self.let_go || self.continues.is_some() {
            return 0;
        }
        let begins = packet.newest && packet.starts_key_frame();
        let first = self.early.first();
        let is_replaced = first.is_some_and(|first| begins && first.timestamp != packet.timestamp);
        let is_at_limit = self.early.len() >= EARLY_PACKETS_MAX || !is_recent(&self.early, packet.at);
        let forgotten = if is_at_limit && !is_replaced {
            self.early.len()
        } else {
            0
        };
        if is_at_limit || is_replaced {
            self.early.clear();
        }
        if begins || !self.early.is_empty() {
            self.early.push(packet.clone());
        }
        forgotten
    }
}

/// Whether the key frame is still worth sending.
fn is_recent(early: &[MediaPacket], now: Instant) -> bool {
    let first = early.first();
    first.is_none_or(|first| now.saturating_duration_since(first.at) <= EARLY_MAX)
}
