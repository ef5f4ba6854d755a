//! A packet's way to its replicas: audio first, video in quanta, each replica everything that is
//! there for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{Counter, ReplicaId};
use wire::MediaKind;

use super::fanout::{Offered, Progress, Refused, Taken};
use super::header::{Moment, Name, Rewrite};
use super::leg::LegState;
use super::notes::Note;
use super::packet::Packet;
use super::relay::Relay;
use super::{QUANTUM, Shard};
use crate::prefetch;

/// When packets wait longer than this a shard has more to do than it can. Of streams in layers only
/// the lowest frame rate is sent then.
const LATE: Duration = Duration::from_millis(20);

impl Shard {
    /// Passes a packet on to every shard that has replicas of its stream. This one always takes
    /// part, so that somebody says the verdict.
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
        // A command that is not taken yet may be the reason for the packet.
        if !self.fanouts.has(life) && self.commands.is_empty() {
            let link = self.links[from].as_mut().expect("it came from another shard");
            // When there is no room for this answer, the next packet will ask again.
            let _ = link.push(Relay::Quiet { life, epoch });
        }
        self.enqueue(packet);
    }

    fn enqueue(&mut self, packet: Arc<Packet>) {
        let packet = match self.fanouts.push(packet) {
            Ok(()) => return,
            Err(Refused::Unfollowed(packet)) => packet,
            Err(Refused::Full(packet)) => {
                self.counters.count(Counter::WorkerQueueFull);
                packet
            }
        };
        self.complete(packet, Progress::default());
    }

    /// Writes waiting packets for their replicas: all audio, what waited for the pace of a leg and
    /// may leave now, and about [`QUANTUM`] replicas of video, the streams by turns.
    pub fn work(&mut self, now: Instant) {
        let moment = Moment::new(now, &self.clock);
        self.parts.forget();
        while let Some(fanout) = self.fanouts.next(MediaKind::Audio) {
            self.serve(fanout, MediaKind::Audio, usize::MAX, &moment);
        }
        self.leave(&moment);
        let mut budget = QUANTUM;
        while budget > 0
            && let Some(fanout) = self.fanouts.next(MediaKind::Video)
        {
            let served = self.serve(fanout, MediaKind::Video, budget, &moment);
            budget = budget.saturating_sub(served);
        }
    }

    /// Offers a stream's packets to its replicas, about `budget` of them; returns how many there
    /// were.
    fn serve(&mut self, mut fanout: Taken, kind: MediaKind, budget: usize, moment: &Moment) -> usize {
        let mut served = 0;
        while served < budget && fanout.has_packets() {
            let begun = fanout.begin(moment.at, |packet| {
                self.counters.count(Counter::WorkerQueueFull);
                self.complete(packet, Progress::default());
            });
            self.fanouts.begun(kind, begun);
            let (turn, part) = fanout.part(budget - served);
            for offered in &mut turn.offered {
                offered.is_late = moment.at.saturating_duration_since(offered.packet.facts().at) > LATE;
            }
            self.prefetch_first(part);
            for (index, (_, replica)) in part.iter().enumerate() {
                self.prefetch_next(&part[index + 1..]);
                for offered in &mut turn.offered {
                    offered.progress.followed = true;
                    match self.offer(*replica, offered, moment) {
                        Ok(()) => offered.progress.sent = true,
                        // A packet that is only padding is no loss to anybody.
                        Err(Counter::PaddingOnly) => {}
                        Err(reason) => self.counters.count(reason),
                    }
                }
            }
            served += part.len() * turn.offered.len();
            fanout
                .end()
                .for_each(|offered| self.complete(offered.packet, offered.progress));
        }
        self.fanouts.put_back(fanout, kind);
        served
    }

    /// Asks for what the first ones will need, of all at once.
    fn prefetch_first(&self, part: &[(ReplicaId, usize)]) {
        part.iter().take(3).for_each(|(_, place)| self.prefetch_replica(*place));
        part.iter().take(2).for_each(|(_, place)| self.prefetch_leg(*place));
        part.iter().take(1).for_each(|(_, place)| self.prefetch_behind(*place));
    }

    /// Asks for what those whose turn is next will need: of the third one the replica, which says
    /// where the leg of the second is, which says where the rest of the first is.
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
    fn offer(&mut self, place: usize, offered: &Offered, moment: &Moment) -> Result<(), Counter> {
        let packet = &offered.packet;
        let replica = &mut self.replicas[place];
        let leg = &self.legs[replica.leg];
        let facts = packet.facts();
        if replica.entry.paused {
            return Err(Counter::Paused);
        }
        let sendable = match (
            packet.payload().is_empty(),
            leg.is_ready(),
            replica.format(facts.payload_type),
        ) {
            (true, ..) => Err(Counter::PaddingOnly),
            (_, false, _) => Err(Counter::NotReady),
            (.., None) => Err(Counter::NotNegotiated),
            (_, true, Some(format)) => {
                let payload = replica.payload(&format, facts).ok_or(Counter::Malformed);
                payload.map(|payload| (format.payload_type, payload))
            }
        };
        let before = replica.selected();
        if !replica.is_following(facts) {
            sendable?;
            if let Some(before) = replica.begin(packet)? {
                self.fanouts.remove(before.life, replica.id);
            }
        }
        let placed = replica.place(packet, sendable.map(drop), offered.is_late);
        if let Some(selected) = replica.selected().filter(|after| Some(*after) != before) {
            self.notes.tell(&self.counters, Note::Selected(replica.id, selected));
        }
        let (number, decision) = placed?;
        let (payload_type, payload) = sendable?;
        let name = Name {
            ssrc: replica.entry.ssrc,
            payload_type,
            // Numbers start in cycle one, so that what comes before the first has one too; SRTP
            // counts from zero.
            index: number - (1 << 16),
            original: None,
        };
        let mut rewrite = Rewrite::new(replica, packet, payload, name, &decision, offered.padding);
        self.send(place, packet, &mut rewrite, moment)
    }
}
