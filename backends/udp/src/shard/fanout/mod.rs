//! Fan-out of packets to the replicas of their streams.

mod early;
mod forward;
pub(crate) mod queues;
mod serve;

use std::sync::Arc;

use dataplane::Counter;

use crate::shard::Shard;
use crate::shard::fanout::queues::{Progress, Rejected};
use crate::shard::handoff::Handoff;
use crate::shard::packet::Packet;

impl Shard {
    /// Passes a packet to every shard that has replicas of its stream, and always to this one, so
    /// that its outcome is counted.
    pub(crate) fn hand_to_shards(&mut self, slot: usize, packet: Arc<Packet>) {
        let listeners = self.tables.streams[slot].listeners;
        packet.outcome.expect(1 + listeners.shards.count_ones());
        let mut left = listeners.shards;
        while left != 0 {
            let other = left.trailing_zeros() as usize;
            left &= left - 1;
            let ring = self.rings[other].as_mut().expect("a listener is another shard");
            let message = Handoff::Packet {
                packet: packet.clone(),
                epoch: listeners.epoch,
            };
            if !ring.push(message) {
                self.counters.count(Counter::WorkerQueueFull);
                self.finish(&packet, Progress::default());
            }
        }
        self.enqueue(packet);
    }

    /// Queues a packet from another shard, and tells that shard when no replica here follows it.
    pub(crate) fn accept_packet(&mut self, from: usize, packet: Arc<Packet>, epoch: u32) {
        let generation = packet.info().generation;
        // A command that is not taken yet may be the reason for the packet.
        if !self.queues.has(generation) && self.commands.is_empty() {
            let ring = self.rings[from].as_mut().expect("it came from another shard");
            // When there is no room for this answer, the next packet prompts another.
            let _ = ring.push(Handoff::Quiet { generation, epoch });
        }
        self.enqueue(packet);
    }

    /// Queues a packet for the replicas here.
    fn enqueue(&mut self, packet: Arc<Packet>) {
        let packet = match self.queues.push(packet) {
            Ok(()) => return,
            Err(Rejected::Unfollowed(packet)) => packet,
            Err(Rejected::Full(packet)) => {
                self.counters.count(Counter::WorkerQueueFull);
                packet
            }
        };
        self.complete(packet, Progress::default());
    }

    /// Finishes a packet and returns its buffer to the pool.
    fn complete(&mut self, packet: Arc<Packet>, progress: Progress) {
        self.finish(&packet, progress);
        self.pool.give(packet);
    }

    /// Marks a packet as finished in this shard; the last shard to finish counts its outcome.
    fn finish(&mut self, packet: &Packet, progress: Progress) {
        if progress.followed {
            packet.outcome.followed();
        }
        if progress.sent {
            packet.outcome.sent();
        }
        match packet.outcome.finish() {
            None | Some((_, true)) => {}
            Some((_, false)) if packet.payload().is_empty() => self.counters.count(Counter::PaddingOnly),
            Some(_) if packet.info().is_copied => self.counters.count(Counter::CopiedByOffload),
            Some((false, false)) => self.counters.count(Counter::NoReplica),
            Some((true, false)) => self.counters.count(Counter::NotSelected),
        }
    }
}
