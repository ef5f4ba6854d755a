//! The device.

use std::time::Instant;

use dataplane::{
    Capabilities, Counters, DataPlane, Event, Inject, LegId, Offload, ReplicaId, ReplicaSnapshot, ReplicaStatistics,
    Update, WriteError,
};

use crate::Places;
use crate::answers::Answers;
use crate::moves::Moves;
use crate::stamped::Stamped;
use crate::voices::Voices;

/// A base with an offload in front of it.
#[derive(Debug)]
pub struct Layered<B, O> {
    base: B,
    offload: O,
    places: Places,
    answers: Answers,
    voices: Voices,
    moves: Moves,
    stamped: Stamped,
    /// When the agent last said what time it is.
    now: Option<Instant>,
}

impl<B: DataPlane, O: Offload> Layered<B, O> {
    /// Puts an offload in front of a base. Neither has entries of ours yet.
    pub fn new(base: B, offload: O) -> Self {
        Layered {
            base,
            offload,
            places: Places::default(),
            answers: Answers::default(),
            voices: Voices::default(),
            moves: Moves::default(),
            stamped: Stamped::default(),
            now: None,
        }
    }

    /// The base.
    pub fn base(&self) -> &B {
        &self.base
    }

    /// The same, to be used for what is not an entry.
    pub fn base_mut(&mut self) -> &mut B {
        &mut self.base
    }

    /// The offload.
    pub fn offload(&self) -> &O {
        &self.offload
    }

    /// The same, to be used for what is not an entry.
    pub fn offload_mut(&mut self) -> &mut O {
        &mut self.offload
    }

    /// Which entry runs where, for whoever wants to look while this runs.
    pub fn places(&self) -> Places {
        self.places.clone()
    }

    /// The base has it first, so that there is no moment at which nobody has it.
    fn set(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        let told = self.stamped.for_base(self.voices.for_base(&update, &self.offload));
        self.base.write(now, told)?;
        if self.offload.takes_replicas() {
            self.stamped.keep(&update);
        }
        let answer = self.offload.offer(now, &update);
        self.places.offered(&update, answer);
        self.hand_over_stamps(now)?;
        self.moves.heed(&update, &self.voices);
        let changes = self.voices.changes(&update, &self.offload);
        for (replica, from) in self.voices.take_snapshots() {
            self.base.inject(now, Inject::Resume { replica, from });
        }
        changes.into_iter().try_for_each(|change| self.base.write(now, change))
    }

    /// The offload loses it first, for the same reason.
    fn remove(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        let answer = self.offload.offer(now, &update);
        if let Update::RemoveRelay(at) = update
            && self.places.has_relay(at)
        {
            self.answers.expect(at, self.offload.relay_traffic(at));
        }
        self.places.offered(&update, answer);
        self.voices.forget(&update);
        self.moves.heed(&update, &self.voices);
        self.stamped.forget(&update);
        self.hand_over_stamps(now)?;
        self.base.write(now, update)
    }

    /// Asks the base for replicas that the offload could send.
    fn ask_for_replicas(&mut self, now: Instant) {
        while let Some(id) = self.offload.next_candidate() {
            let leg = self.voices.sent_by_base(id).map(|replica| replica.leg);
            let Some(leg) = leg.filter(|leg| self.moves.ask(id, *leg)) else {
                let _ = self.offload.take_over(id, None, 0);
                continue;
            };
            let change = self.stamped.lend(leg);
            self.tell_base(now, change);
            self.base.inject(now, Inject::Release { replica: id });
        }
    }

    /// The base has let a replica to this leg go, or has not.
    fn hand_over(
        &mut self,
        now: Instant,
        id: ReplicaId,
        leg: LegId,
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) {
        match self.offload.take_over(id, from, transport_sequence) {
            Ok(()) => {
                if let Some((entry, change)) = self.voices.silence(id) {
                    self.places.offered(&entry, Ok(()));
                    self.tell_base(now, Some(change));
                }
            }
            Err(_) => {
                if let Some(from) = from {
                    self.base.inject(now, Inject::Resume { replica: id, from });
                }
            }
        }
        // A leg that is gone has nothing to be stamped.
        let _ = self.hand_over_stamps(now);
        if !self.moves.has(leg) {
            let change = self.stamped.give_back(leg);
            self.tell_base(now, change);
        }
    }

    /// Writes what the base has in another form already, so that it can say nothing against it.
    fn tell_base(&mut self, now: Instant, change: Option<Update>) {
        if let Some(change) = change {
            let _ = self.base.write(now, change);
        }
    }

    /// The base's next event that is for the agent.
    fn next_of_base(&mut self) -> Option<Event> {
        loop {
            let event = self.base.poll()?;
            let Event::Released {
                replica,
                from,
                transport_sequence,
            } = event
            else {
                return Some(event);
            };
            match (self.moves.answered(replica), self.now) {
                (Some((leg, holds)), Some(now)) => {
                    self.hand_over(now, replica, leg, from.filter(|_| holds), transport_sequence);
                }
                // The agent asked by itself.
                _ => return Some(event),
            }
        }
    }

    /// Has the base stamp no packets to legs where the offload does from now on.
    fn hand_over_stamps(&mut self, now: Instant) -> Result<(), WriteError> {
        while let Some(leg) = self.offload.next_stamped() {
            if let Some(change) = self.stamped.take_over(leg) {
                self.base.write(now, change)?;
            }
        }
        Ok(())
    }
}

impl<B: DataPlane, O: Offload> DataPlane for Layered<B, O> {
    fn capabilities(&self) -> Capabilities {
        let base = self.base.capabilities();
        Capabilities {
            copies: base.copies || self.offload.takes_replicas(),
            ..base
        }
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.now = Some(now);
        match update {
            Update::SetLeg(..)
            | Update::SetPace(..)
            | Update::SetStream(..)
            | Update::SetReplica(..)
            | Update::SetRelay(..) => self.set(now, update),
            Update::RemoveLeg(_) | Update::RemoveStream(_) | Update::RemoveReplica(_) | Update::RemoveRelay(_) => {
                self.remove(now, update)
            }
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.now = Some(now);
        match what {
            Inject::ReportRelay { at } if self.places.has_relay(at) => {
                self.answers.expect(at, self.offload.relay_traffic(at));
            }
            // The base has nothing of it that its receiver would know.
            Inject::Resend { replica, sequences } if self.offload.sends(replica) => {
                return self.offload.nack(now, replica, sequences);
            }
            Inject::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } if self.offload.probe(leg, probe, rate, bytes, packets) => return,
            _ => {}
        }
        self.base.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        if let Some(now) = self.now {
            self.ask_for_replicas(now);
        }
        match self.next_of_base() {
            Some(Event::RelayTraffic { at, traffic, last }) => Some(self.answers.complete(at, traffic, last)),
            Some(Event::Replica(id, there)) => {
                let here = self.offload.replica_statistics(id);
                Some(Event::Replica(id, here.map_or(there, |here| together(here, there))))
            }
            Some(Event::Stream(key, there)) => {
                let here = self.offload.stream_statistics(key).unwrap_or_default();
                // Where packets go on to the base, it has seen the same ones, and more of them.
                Some(Event::Stream(
                    key,
                    if here.packets > there.packets { here } else { there },
                ))
            }
            Some(event) => Some(event),
            None => self.offload.poll(),
        }
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.base.counters();
        counters.add(&self.offload.counters());
        counters
    }

    fn ping_workers(&mut self) {
        self.base.ping_workers();
    }

    fn workers_answered(&mut self) -> bool {
        self.base.workers_answered()
    }
}

/// What a replica did that is sent here, and before by the base.
fn together(here: ReplicaStatistics, there: ReplicaStatistics) -> ReplicaStatistics {
    ReplicaStatistics {
        packets: here.packets + there.packets,
        octets: here.octets + there.octets,
        resent: here.resent + there.resent,
        ..here
    }
}
