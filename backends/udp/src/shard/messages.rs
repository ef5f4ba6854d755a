//! Messages of other shards.

use std::time::Instant;

use dataplane::Counter;

use crate::shard::Shard;
use crate::shard::handoff::Handoff;
use crate::shard::rewrite::BatchTime;

/// How many messages of one other shard are taken at a time.
const HANDOFFS_PER_TURN: usize = 256;

impl Shard {
    /// Takes messages of other shards; returns how many.
    pub fn take_handoffs(&mut self, now: Instant) -> usize {
        let mut taken = 0;
        for other in 0..self.rings.len() {
            for _ in 0..HANDOFFS_PER_TURN {
                let Some(Ok(message)) = self.rings[other].as_mut().map(|ring| ring.from.pop()) else {
                    break;
                };
                self.handle_handoff(now, other, message);
                taken += 1;
            }
        }
        taken
    }

    /// Acts on a message of another shard.
    fn handle_handoff(&mut self, now: Instant, other: usize, message: Handoff) {
        match message {
            Handoff::Datagram(received) => self.receive_handed_off(now, &received),
            Handoff::Packet { packet, epoch } => self.accept_packet(other, packet, epoch),
            Handoff::Quiet { generation, epoch } => {
                if let Some(slot) = self.tables.stream_slots.get(&generation) {
                    self.tables.streams[*slot].listeners.quiet(other, epoch);
                }
            }
            Handoff::Fetch {
                generation,
                source_number,
                ticket,
            } => {
                let packet = self.tables.cached(generation, source_number);
                let ring = self.rings[other].as_mut().expect("it came from another shard");
                if !ring.push(Handoff::Fetched { packet, ticket }) {
                    self.counters.count(Counter::WorkerQueueFull);
                }
            }
            Handoff::Fetched { packet, ticket } => {
                let time = BatchTime::new(now, &self.clock);
                if let Err(reason) = self.resend_packet(packet, ticket, &time) {
                    self.counters.count(reason);
                }
            }
        }
    }
}
