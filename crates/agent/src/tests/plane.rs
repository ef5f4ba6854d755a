//! The model, and what was written to it; with probes at their own rate, which the model itself sends at once,
//! and the media that leaves meanwhile as part of them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use dataplane::{
    Capabilities, Clock, DataPlane, Event, Inject, Leg, LegId, Model, Replica, ReplicaId, Stream, StreamKey, Update,
    WriteError,
};

/// The model with a copy of its entries, for tests to look at.
pub(super) struct Plane {
    model: Model,
    legs: BTreeMap<LegId, Leg>,
    streams: BTreeMap<StreamKey, Stream>,
    paces: BTreeMap<LegId, Option<u64>>,
    replicas: BTreeMap<ReplicaId, Replica>,
    probes: VecDeque<Probing>,
}

/// A burst under way.
struct Probing {
    due: Instant,
    leg: LegId,
    probe: u32,
    rate: u64,
    packets: u32,
}

/// What one packet of padding takes. Shape: bytes of UDP payload.
const PADDING: u32 = 275;

impl Plane {
    pub(super) fn new(clock: Clock) -> Self {
        Plane {
            model: Model::new(clock),
            legs: BTreeMap::new(),
            streams: BTreeMap::new(),
            paces: BTreeMap::new(),
            replicas: BTreeMap::new(),
            probes: VecDeque::new(),
        }
    }

    pub(super) fn leg(&self, id: LegId) -> Option<&Leg> {
        self.legs.get(&id)
    }

    pub(super) fn pace(&self, id: LegId) -> Option<u64> {
        self.paces.get(&id).copied().flatten()
    }

    /// The entry that sends with this SSRC.
    pub(super) fn replica_with(&self, ssrc: u32) -> Option<&Replica> {
        self.replicas.values().find(|replica| replica.ssrc.0 == ssrc)
    }

    /// Everything that is sent on a leg, by replica.
    pub(super) fn replicas_of(&self, leg: LegId) -> Vec<(ReplicaId, Replica)> {
        let theirs = self.replicas.iter().filter(|(_, replica)| replica.leg == leg);
        theirs.map(|(id, replica)| (*id, replica.clone())).collect()
    }

    /// When the next packet of a burst is due.
    pub(super) fn next_probe(&self) -> Option<Instant> {
        self.probes.front().map(|probing| probing.due)
    }

    /// Sends what is due of bursts, one after the other.
    pub(super) fn send_probes(&mut self, now: Instant) {
        while let Some(probing) = self.probes.front_mut().filter(|probing| probing.due <= now) {
            let one = Inject::Probe {
                leg: probing.leg,
                probe: probing.probe,
                rate: probing.rate,
                bytes: 0,
                packets: 1,
            };
            self.model.inject(now, one);
            probing.due = now + Duration::from_micros(u64::from(PADDING) * 8_000_000 / probing.rate);
            probing.packets -= 1;
            if probing.packets == 0 {
                self.probes.pop_front();
            }
        }
    }

    pub(super) fn stream(&self, key: StreamKey) -> Option<&Stream> {
        self.streams.get(&key)
    }
}

impl Deref for Plane {
    type Target = Model;
    fn deref(&self) -> &Model {
        &self.model
    }
}

impl DerefMut for Plane {
    fn deref_mut(&mut self) -> &mut Model {
        &mut self.model
    }
}

impl DataPlane for Plane {
    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.model.write(now, update.clone())?;
        match update {
            Update::SetPace(id, pace) => drop(self.paces.insert(id, pace)),
            Update::SetLeg(id, leg) => drop(self.legs.insert(id, leg)),
            Update::RemoveLeg(id) => drop(self.legs.remove(&id)),
            Update::SetStream(key, stream) => drop(self.streams.insert(key, stream)),
            Update::RemoveStream(key) => drop(self.streams.remove(&key)),
            Update::SetReplica(id, replica) => drop(self.replicas.insert(id, replica)),
            Update::RemoveReplica(id) => drop(self.replicas.remove(&id)),
        }
        Ok(())
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } => self.probes.push_back(Probing {
                due: now,
                leg,
                probe,
                rate,
                packets: packets.max(bytes.div_ceil(PADDING)),
            }),
            what => self.model.inject(now, what),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        let mut event = self.model.poll();
        if let (Some(Event::Departures { leg, departures }), Some(probing)) = (&mut event, self.probes.front())
            && probing.leg == *leg
        {
            for departure in departures {
                departure.probe = departure.probe.or(Some(probing.probe));
            }
        }
        event
    }

    fn counters(&mut self) -> dataplane::Counters {
        self.model.counters()
    }
}
