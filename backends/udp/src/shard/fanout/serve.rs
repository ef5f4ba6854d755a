//! Serving queued packets to replicas: audio first, video in quanta.

use std::time::{Duration, Instant};

use dataplane::Counter;
use wire::MediaKind;

use crate::shard::fanout::queues::{Checkout, Progress};
use crate::shard::rewrite::BatchTime;
use crate::shard::{QUANTUM, Shard};

/// A shard is overloaded when packets wait longer than this. Then only the lowest temporal layer of
/// layered streams is sent.
const LATE: Duration = Duration::from_millis(20);

impl Shard {
    /// Writes waiting packets for their replicas: all audio, paced packets that are due, and video
    /// for about [`QUANTUM`] replicas, streams round-robin.
    pub fn work(&mut self, now: Instant) {
        let time = BatchTime::new(now, &self.clock);
        self.open_frames.forget();
        while let Some(fanout) = self.queues.next(MediaKind::Audio) {
            self.serve(fanout, MediaKind::Audio, usize::MAX, &time);
        }
        self.send_due(&time);
        let mut budget = QUANTUM;
        while budget > 0
            && let Some(fanout) = self.queues.next(MediaKind::Video)
        {
            let served = self.serve(fanout, MediaKind::Video, budget, &time);
            budget = budget.saturating_sub(served);
        }
    }

    /// Forwards a stream's packets to its replicas, about `budget` of them and early packets first;
    /// returns how many there were.
    fn serve(&mut self, mut fanout: Checkout, kind: MediaKind, budget: usize, time: &BatchTime) -> usize {
        let mut served = 0;
        while served < budget
            && let Some((id, replica)) = fanout.next_early()
        {
            let most = budget - served;
            let sent = self.send_early(replica, most, time);
            if sent == most {
                fanout.put_early_back(id);
            }
            served += sent;
        }
        while served < budget && fanout.has_packets() {
            let begun = fanout.begin(time.at, |packet| {
                self.counters.count(Counter::WorkerQueueFull);
                self.complete(packet, Progress::default());
            });
            self.queues.begun(kind, begun);
            let (batch, part) = fanout.part(budget - served);
            for queued in &mut batch.packets {
                queued.is_late = time.at.saturating_duration_since(queued.packet.info().at) > LATE;
            }
            self.tables.prefetch_first(part);
            for (index, (_, replica)) in part.iter().enumerate() {
                self.tables.prefetch_next(&part[index + 1..]);
                for queued in &mut batch.packets {
                    self.offer(*replica, queued, time);
                }
            }
            served += part.len() * batch.packets.len();
            fanout
                .end()
                .for_each(|queued| self.complete(queued.packet, queued.progress));
        }
        self.queues.put_back(fanout, kind);
        served
    }
}
