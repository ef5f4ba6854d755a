//! A packet's way to its replicas: audio first, video in quanta.

use std::sync::Arc;
use std::time::Instant;

use dataplane::{Counter, ReplicaId};
use wire::MediaKind;

use super::header::{Moment, Name, Rewrite};
use super::leg::remove_sorted;
use super::notes::Note;
use super::packet::Packet;
use super::relay::Relay;
use super::{QUANTUM, Shard};

/// A packet that still has replicas here to be written.
#[derive(Debug)]
pub(super) struct Job {
    packet: Arc<Packet>,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The last replica served, when the job was interrupted. The list may change meanwhile; its order does not.
    behind: Option<ReplicaId>,
    /// Whether anybody here followed the stream.
    followed: bool,
    /// Whether anybody here got the packet.
    sent: bool,
}

impl Shard {
    /// Passes a packet on to every shard that has replicas of its stream. This one always takes part, so that somebody says the verdict.
    pub(super) fn spread(&mut self, place: usize, packet: Arc<Packet>) {
        let listeners = self.streams[place].listeners;
        packet.outcome.expect(1 + listeners.shards.count_ones());
        let mut left = listeners.shards;
        while left != 0 {
            let other = left.trailing_zeros() as usize;
            left &= left - 1;
            let link = self.links[other].as_mut().expect("a listener is another shard");
            let message = Relay::Packet {
                packet: packet.clone(),
                epoch: listeners.epoch,
            };
            if !link.push(message) {
                self.counters.count(Counter::WorkerQueueFull);
                self.finish(&packet, Progress::default());
            }
        }
        self.enqueue(packet);
    }

    /// Takes a packet from another shard, or tells that shard that nobody here wants any.
    pub(super) fn accept(&mut self, from: usize, packet: Arc<Packet>, epoch: u32) {
        let life = packet.facts().life;
        if self.fanouts.contains_key(&life) {
            return self.enqueue(packet);
        }
        // An order that is not taken yet may be the reason why the packet came.
        if self.orders.is_empty() {
            let link = self.links[from].as_mut().expect("it came from another shard");
            // When there is no room for this answer, the next packet will ask again.
            let _ = link.push(Relay::Quiet { life, epoch });
        }
        self.finish(&packet, Progress::default());
    }

    fn enqueue(&mut self, packet: Arc<Packet>) {
        let queue = match packet.facts().kind {
            MediaKind::Audio => &mut self.audio,
            MediaKind::Video => &mut self.video,
        };
        queue.push_back(Job {
            packet,
            progress: Progress::default(),
        });
    }

    /// Writes waiting packets for their replicas: all audio, what waited for the pace of a leg and may leave now, and about [`QUANTUM`] replicas of video.
    pub fn work(&mut self, now: Instant) {
        let moment = Moment::new(now, &self.clock);
        while let Some(mut job) = self.audio.pop_front() {
            self.serve(&mut job, usize::MAX, &moment);
            self.complete(job);
        }
        self.leave(&moment);
        let mut budget = QUANTUM;
        while let Some(mut job) = self.video.pop_front() {
            let served = self.serve(&mut job, budget, &moment);
            if served == budget {
                // Perhaps it was done just now; then the next turn finds nobody left.
                self.video.push_front(job);
                return;
            }
            budget -= served;
            self.complete(job);
        }
    }

    /// Offers a packet to the next `budget` of its replicas; returns how many there were.
    fn serve(&mut self, job: &mut Job, budget: usize, moment: &Moment) -> usize {
        let life = job.packet.facts().life;
        let Some(list) = self.fanouts.get_mut(&life) else {
            return 0;
        };
        let list = std::mem::take(list);
        let start = job
            .progress
            .behind
            .map_or(0, |behind| list.partition_point(|(id, _)| *id <= behind));
        let part = &list[start..list.len().min(start.saturating_add(budget))];
        job.progress.followed |= !part.is_empty();
        for (id, place) in part {
            match self.offer(*place, &job.packet, moment) {
                Ok(()) => job.progress.sent = true,
                // A packet that is only padding is no loss to anybody.
                Err(Counter::PaddingOnly) => {}
                Err(reason) => self.counters.count(reason),
            }
            job.progress.behind = Some(*id);
        }
        let served = part.len();
        self.fanouts.insert(life, list);
        served
    }

    fn complete(&mut self, job: Job) {
        self.finish(&job.packet, job.progress);
        self.pool.give(job.packet);
    }

    /// This shard is done with a packet; the last one to be counts what became of it.
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

    /// What one replica makes of a packet of a stream in its fan-out list.
    fn offer(&mut self, place: usize, packet: &Arc<Packet>, moment: &Moment) -> Result<(), Counter> {
        let replica = &mut self.replicas[place];
        let leg = &self.legs[replica.leg];
        let facts = packet.facts();
        if replica.entry.paused {
            return Err(Counter::Paused);
        }
        let sendable = match (
            packet.payload().is_empty(),
            leg.ready(),
            replica.format(facts.payload_type),
        ) {
            (true, ..) => Err(Counter::PaddingOnly),
            (_, None, _) => Err(Counter::NotReady),
            (.., None) => Err(Counter::NotNegotiated),
            (_, Some(_), Some(format)) => {
                let payload = replica.payload(&format, facts).ok_or(Counter::Malformed);
                payload.map(|payload| (format.payload_type, payload))
            }
        };
        let before = replica.selected();
        if !replica.is_following(facts) {
            sendable?;
            replica.may_start(facts)?;
            if let Some(before) = replica.follow(packet)
                && let Some(list) = self.fanouts.get_mut(&before.life)
            {
                remove_sorted(list, replica.id);
                if list.is_empty() {
                    self.fanouts.remove(&before.life);
                }
            }
        }
        let placed = replica.place(packet, sendable.map(drop));
        if let Some(selected) = replica.selected().filter(|after| Some(*after) != before) {
            self.notes.tell(&self.counters, Note::Selected(replica.id, selected));
        }
        let (number, decision) = placed?;
        let (payload_type, payload) = sendable?;
        let name = Name {
            ssrc: replica.entry.ssrc,
            payload_type,
            // Numbers start in cycle one, so that what comes before the first has one too; SRTP counts from zero.
            index: number - (1 << 16),
            original: None,
        };
        let mut rewrite = Rewrite::new(replica, packet, payload, name, &decision);
        self.send(place, packet, &mut rewrite, moment)
    }
}
