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
use crate::{LegId, ReplicaId};

impl Model {
    /// Sends what the replicas of a leg have kept for it, if it is ready now.
    pub(in crate::model) fn send_early(&mut self, now: Instant, leg: LegId) {
        if self.legs[&leg].ready().is_none() {
            return;
        }
        let of_leg = self.replicas.iter().filter(|(_, replica)| replica.entry.leg == leg);
        let ids: Vec<ReplicaId> = of_leg.map(|(id, _)| *id).collect();
        let mut out = std::mem::take(&mut self.injected);
        for id in ids {
            let replica = self.replicas.get_mut(&id).expect("listed");
            let early = replica.take_early(now);
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
    /// frame or comes after one that is kept.
    pub(super) fn keep_early(&mut self, packet: &MediaPacket) {
        if self.current.is_some() || self.let_go || self.continues.is_some() {
            return;
        }
        let is_full = self.early.len() >= EARLY_PACKETS_MAX;
        let begins = packet.newest && packet.starts_key_frame();
        let replaces = |first: &MediaPacket| begins && first.timestamp != packet.timestamp;
        let is_over = |first: &MediaPacket| !is_recent(first, packet.at) || replaces(first);
        if is_full || self.early.first().is_some_and(is_over) {
            self.early.clear();
        }
        if begins || !self.early.is_empty() {
            self.early.push(packet.clone());
        }
    }

    /// Takes the packets that are still worth sending.
    fn take_early(&mut self, now: Instant) -> Vec<MediaPacket> {
        let early = std::mem::take(&mut self.early);
        let is_worth = early.first().is_some_and(|first| is_recent(first, now));
        if is_worth { early } else { Vec::new() }
    }
}

fn is_recent(first: &MediaPacket, now: Instant) -> bool {
    now.saturating_duration_since(first.at) <= EARLY_MAX
}
