//! Forwarding of packets that arrived before a leg had keys.

use std::time::Instant;

use dataplane::LegId;

use crate::shard::Shard;
use crate::shard::egress::rewrite::BatchTime;
use crate::shard::fanout::queues::QueuedPacket;

impl Shard {
    /// Sends what the replicas of a leg have kept for it, if it is ready now.
    pub(crate) fn send_early(&mut self, now: Instant, id: LegId) {
        let leg = self.tables.leg_places[&id];
        if !self.tables.legs[leg].is_ready() {
            return;
        }
        let time = BatchTime::new(now, &self.clock);
        for index in 0..self.tables.legs[leg].replicas.len() {
            let (_, replica) = self.tables.legs[leg].replicas[index];
            for packet in self.tables.replicas[replica].early.take(now) {
                let mut queued = QueuedPacket::new(packet);
                self.offer(replica, &mut queued, &time);
                self.pool.give(queued.packet);
            }
        }
    }
}
