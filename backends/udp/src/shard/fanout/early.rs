//! Forwarding of packets that arrived before a leg had keys.

use std::time::Instant;

use dataplane::{Counter, LegId, Protection};

use crate::shard::Shard;
use crate::shard::fanout::queues::QueuedPacket;
use crate::shard::rewrite::BatchTime;

impl Shard {
    /// Queues what the replicas of a leg have kept for it, if it has keys now. It is forgotten if
    /// it is too old, or cannot be sent for lack of a path: packets after it are not kept.
    pub(crate) fn queue_early(&mut self, now: Instant, id: LegId) {
        let leg = &self.tables.legs[self.tables.leg_slots[&id]];
        if leg.entry.protection == Protection::Pending {
            return;
        }
        for (id, slot) in &leg.replicas {
            let early = &mut self.tables.replicas[*slot].early;
            if !(leg.is_ready() && early.is_recent(now)) {
                self.counters.add(Counter::EarlyForgotten, early.forget() as u64);
            } else if let Some(first) = early.first() {
                self.queues.push_early(first.info().generation, *id);
            }
        }
    }

    /// Forwards what a replica has kept, up to this many packets. Returns how many there were.
    pub(super) fn send_early(&mut self, replica: usize, packets: usize, time: &BatchTime) -> usize {
        // The leg may have lost its keys or its path since.
        if !self.tables.legs[self.tables.replicas[replica].leg].is_ready() {
            return 0;
        }
        for sent in 0..packets {
            let Some(packet) = self.tables.replicas[replica].early.pop() else {
                return sent;
            };
            let mut queued = QueuedPacket::new(packet);
            self.offer(replica, &mut queued, time);
            self.pool.give(queued.packet);
        }
        packets
    }
}
