//! Forwarding of packets that arrived before a leg had keys.

use std::time::Instant;

use dataplane::{Counter, LegId, Protection};

use crate::shard::Shard;
use crate::shard::egress::rewrite::BatchTime;
use crate::shard::fanout::queues::QueuedPacket;

impl Shard {
    /// Sends what the replicas of a leg have kept for it, if it has keys now. It is forgotten if it
    /// is too old, or cannot be sent for lack of a path: packets after it are not kept.
    pub(crate) fn send_early(&mut self, now: Instant, id: LegId) {
        let leg = self.tables.leg_places[&id];
        if self.tables.legs[leg].entry.protection == Protection::Pending {
            return;
        }
        let is_ready = self.tables.legs[leg].is_ready();
        let time = BatchTime::new(now, &self.clock);
        for index in 0..self.tables.legs[leg].replicas.len() {
            let (_, replica) = self.tables.legs[leg].replicas[index];
            let early = &mut self.tables.replicas[replica].early;
            if !(is_ready && early.is_recent(now)) {
                self.counters.add(Counter::EarlyForgotten, early.forget() as u64);
            }
            while let Some(packet) = self.tables.replicas[replica].early.pop() {
                let mut queued = QueuedPacket::new(packet);
                self.offer(replica, &mut queued, &time);
                self.pool.give(queued.packet);
            }
        }
    }
}
