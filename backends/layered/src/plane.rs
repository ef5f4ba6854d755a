//! The device.

use std::time::Instant;

use dataplane::{Capabilities, Counters, DataPlane, Event, Inject, Offload, Update, WriteError};

use crate::Places;
use crate::answers::Answers;
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
    stamped: Stamped,
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
            stamped: Stamped::default(),
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
        for change in self.voices.changes(&update, &self.offload) {
            self.base.write(now, change)?;
        }
        for (replica, from) in self.voices.take_continuations() {
            self.base.inject(now, Inject::GoOn { replica, from });
        }
        Ok(())
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
        self.stamped.forget(&update);
        self.hand_over_stamps(now)?;
        self.base.write(now, update)
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
        self.base.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
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
        match what {
            Inject::ReportRelay { at } if self.places.has_relay(at) => {
                self.answers.expect(at, self.offload.relay_traffic(at));
            }
            // The base has nothing of it that its receiver would know.
            Inject::Resend { replica, sequences } if self.offload.sends(replica) => {
                return self.offload.want(now, replica, sequences);
            }
            Inject::Probe {
                leg,
                probe,
                bytes,
                packets,
                ..
            } if self.offload.probe(leg, probe, bytes, packets) => return,
            _ => {}
        }
        self.base.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        match self.base.poll() {
            Some(Event::RelayTraffic { at, traffic, last }) => Some(self.answers.complete(at, traffic, last)),
            Some(Event::Replica(id, there)) => {
                Some(Event::Replica(id, self.offload.replica_statistics(id).unwrap_or(there)))
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
}
