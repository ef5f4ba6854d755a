//! Serving queued packets to replicas: audio first, video in quanta.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{Counter, ReplicaId};
use wire::MediaKind;

use super::fanout::{Checkout, Progress, QueuedPacket, Rejected};
use super::handoff::Handoff;
use super::header::{BatchTime, Rewrite, RtpIdentity};
use super::leg::LegState;
use super::packet::Packet;
use super::report::Report;
use super::{QUANTUM, Shard};
use crate::prefetch;

/// A shard is overloaded when packets wait longer than this. Then only the lowest temporal layer of
/// layered streams is sent.
const LATE: Duration = Duration::from_millis(20);

impl Shard {
    /// Passes a packet to every shard that has replicas of its stream, and always to this one, so
    /// that its outcome is counted.
    pub(super) fn hand_to_shards(&mut self, place: usize, packet: Arc<Packet>) {
        let listeners = self.streams[place].listeners;
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
    pub(super) fn accept_packet(&mut self, from: usize, packet: Arc<Packet>, epoch: u32) {
        let generation = packet.info().generation;
        // A command that is not taken yet may be the reason for the packet.
        if !self.queues.has(generation) && self.commands.is_empty() {
            let ring = self.rings[from].as_mut().expect("it came from another shard");
            // When there is no room for this answer, the next packet prompts another.
            let _ = ring.push(Handoff::Quiet { generation, epoch });
        }
        self.enqueue(packet);
    }

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

    /// Writes waiting packets for their replicas: all audio, paced packets that are due, and video
    /// for about [`QUANTUM`] replicas, streams round-robin.
    pub fn work(&mut self, now: Instant) {
        let time = BatchTime::new(now, &self.clock);
        self.open_frames.forget();
        while let Some(fanout) = self.queues.next(MediaKind::Audio) {
            self.serve(fanout, MediaKind::Audio, usize::MAX, &time);
        }
        self.leave(&time);
        let mut budget = QUANTUM;
        while budget > 0
            && let Some(fanout) = self.queues.next(MediaKind::Video)
        {
            let served = self.serve(fanout, MediaKind::Video, budget, &time);
            budget = budget.saturating_sub(served);
        }
    }

    /// Forwards a stream's packets to its replicas, about `budget` of them; returns how many there
    /// were.
    fn serve(&mut self, mut fanout: Checkout, kind: MediaKind, budget: usize, time: &BatchTime) -> usize {
        let mut served = 0;
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
            self.prefetch_first(part);
            for (index, (_, replica)) in part.iter().enumerate() {
                self.prefetch_next(&part[index + 1..]);
                for queued in &mut batch.packets {
                    queued.progress.followed = true;
                    match self.forward(*replica, queued, time) {
                        Ok(()) => queued.progress.sent = true,
                        // A packet that is only padding is not missed.
                        Err(Counter::PaddingOnly) => {}
                        Err(reason) => self.counters.count(reason),
                    }
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

    /// Prefetches what the first replicas need.
    fn prefetch_first(&self, part: &[(ReplicaId, usize)]) {
        part.iter().take(3).for_each(|(_, place)| self.prefetch_replica(*place));
        part.iter().take(2).for_each(|(_, place)| self.prefetch_leg(*place));
        part.iter().take(1).for_each(|(_, place)| self.prefetch_behind(*place));
    }

    /// Prefetches what the next replicas need: the replica of the third, the leg of the second and
    /// the leg's allocations of the first. Each points to the next.
    fn prefetch_next(&self, next: &[(ReplicaId, usize)]) {
        if let Some((_, third)) = next.get(2) {
            self.prefetch_replica(*third);
        }
        if let Some((_, second)) = next.get(1) {
            self.prefetch_leg(*second);
        }
        if let Some((_, first)) = next.first() {
            self.prefetch_behind(*first);
        }
    }

    fn prefetch_replica(&self, place: usize) {
        prefetch::value(self.replicas.place(place));
    }

    fn prefetch_leg(&self, replica: usize) {
        let replica = &self.replicas[replica];
        prefetch::first(&replica.entry.formats);
        LegState::prefetch(self.legs.place(replica.leg));
    }

    fn prefetch_behind(&self, replica: usize) {
        self.legs[self.replicas[replica].leg].prefetch_behind();
    }

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
            Some((false, false)) => self.counters.count(Counter::NoReplica),
            Some((true, false)) => self.counters.count(Counter::NotSelected),
        }
    }

    /// Forwards a packet to one replica of its stream: select, number, rewrite, send.
    fn forward(&mut self, place: usize, queued: &QueuedPacket, time: &BatchTime) -> Result<(), Counter> {
        let packet = &queued.packet;
        let replica = &mut self.replicas[place];
        let leg = &self.legs[replica.leg];
        let info = packet.info();
        if replica.entry.paused {
            return Err(Counter::Paused);
        }
        let sendable = match (
            packet.payload().is_empty(),
            leg.is_ready(),
            replica.format(info.payload_type),
        ) {
            (true, ..) => Err(Counter::PaddingOnly),
            (_, false, _) => Err(Counter::NotReady),
            (.., None) => Err(Counter::NotNegotiated),
            (_, true, Some(format)) => {
                let payload = replica.payload(&format, info).ok_or(Counter::Malformed);
                payload.map(|payload| (format.payload_type, payload))
            }
        };
        let before = replica.selected();
        if !replica.is_following(info) {
            sendable?;
            if let Some(before) = replica.begin(packet)? {
                self.queues.remove(before.generation, replica.id);
            }
        }
        let decided = replica.decide(packet, sendable.map(drop), queued.is_late);
        if let Some(selected) = replica.selected().filter(|after| Some(*after) != before) {
            self.reports
                .send(&self.counters, Report::Selected(replica.id, selected));
        }
        let (number, decision) = decided?;
        let (payload_type, payload) = sendable?;
        let identity = RtpIdentity {
            ssrc: replica.entry.ssrc,
            payload_type,
            // Numbers start in cycle one, so that packets before the first have one too; SRTP
            // counts from zero.
            index: number - (1 << 16),
            original: None,
        };
        let mut rewrite = Rewrite::new(replica, packet, payload, identity, &decision, queued.padding);
        self.send(place, packet, &mut rewrite, time)
    }
}
