//! The model, and its entries. Probes are sent at their own rate, which the model itself would send
//! at once, and media sent meanwhile is part of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use dataplane::{
    Capabilities, Clock, Counter, Counters, DataPlane, Event, Inject, Leg, LegId, Model, Relay, Replica, ReplicaId,
    Stream, StreamKey, Update, WriteError,
};

/// Size of one packet of the model's padding. Shape: bytes of UDP payload.
const PADDING: u32 = 275;

/// The model with a copy of its entries, to look at.
#[derive(Debug)]
pub struct Plane {
    model: Model,
    legs: BTreeMap<LegId, Leg>,
    streams: BTreeMap<StreamKey, Stream>,
    paces: BTreeMap<LegId, Option<u64>>,
    feedback: BTreeMap<LegId, Option<LegId>>,
    replicas: BTreeMap<ReplicaId, Replica>,
    relays: BTreeMap<SocketAddr, Relay>,
    /// Addresses at which no relay can be opened.
    pub taken: BTreeSet<SocketAddr>,
    /// Every entry of a replica that was written, and when.
    pub written: Vec<(Instant, ReplicaId, Replica)>,
    probes: BTreeMap<LegId, VecDeque<Probing>>,
    lost: Counters,
    capabilities: Option<Capabilities>,
}

/// A burst under way.
#[derive(Debug)]
struct Probing {
    due: Instant,
    leg: LegId,
    probe: u32,
    rate: u64,
    packets: u32,
}

impl Plane {
    /// With nothing in its tables.
    pub fn new(clock: Clock) -> Self {
        Plane {
            model: Model::new(clock),
            legs: BTreeMap::new(),
            streams: BTreeMap::new(),
            paces: BTreeMap::new(),
            feedback: BTreeMap::new(),
            replicas: BTreeMap::new(),
            relays: BTreeMap::new(),
            taken: BTreeSet::new(),
            written: Vec::new(),
            probes: BTreeMap::new(),
            lost: Counters::default(),
            capabilities: None,
        }
    }

    /// Claims these capabilities instead of the model's. It still accepts everything.
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        Plane {
            capabilities: Some(capabilities),
            ..self
        }
    }

    /// Adds lost packets to this counter.
    pub fn lose(&mut self, counter: Counter, packets: u64) {
        self.lost[counter] += packets;
    }

    /// All entries, to be compared.
    pub fn entries(&self) -> String {
        let Plane {
            legs,
            streams,
            feedback,
            replicas,
            relays,
            ..
        } = self;
        format!("{legs:#?} {streams:#?} {feedback:#?} {replicas:#?} {relays:#?}")
    }

    /// A leg's entry.
    pub fn leg(&self, id: LegId) -> Option<&Leg> {
        self.legs.get(&id)
    }

    /// A leg's pace, where it has one. Shape: bits per second.
    pub fn pace(&self, id: LegId) -> Option<u64> {
        self.paces.get(&id).copied().flatten()
    }

    /// The leg that a receiver's estimates are forwarded to.
    pub fn feedback(&self, from: LegId) -> Option<LegId> {
        self.feedback.get(&from).copied().flatten()
    }

    /// A stream's entry.
    pub fn stream(&self, key: StreamKey) -> Option<&Stream> {
        self.streams.get(&key)
    }

    /// The entry that sends with this SSRC.
    pub fn replica_with(&self, ssrc: u32) -> Option<&Replica> {
        self.replicas.values().find(|replica| replica.ssrc.0 == ssrc)
    }

    /// Everything that is sent on a leg, by replica.
    pub fn replicas_of(&self, leg: LegId) -> Vec<(ReplicaId, Replica)> {
        let theirs = self.replicas.iter().filter(|(_, replica)| replica.leg == leg);
        theirs.map(|(id, replica)| (*id, replica.clone())).collect()
    }

    /// The relay entry for a port of ours.
    pub fn relay(&self, at: SocketAddr) -> Option<&Relay> {
        self.relays.get(&at)
    }

    /// When the next packet of a burst is due.
    pub fn next_probe(&self) -> Option<Instant> {
        self.probes
            .values()
            .filter_map(VecDeque::front)
            .map(|probing| probing.due)
            .min()
    }

    /// Sends the due packets of bursts, on each leg one burst after the other.
    pub fn send_probes(&mut self, now: Instant) {
        for probes in self.probes.values_mut() {
            while let Some(probing) = probes.front_mut().filter(|probing| probing.due <= now) {
                self.model.inject(now, probing.one());
                probing.due = now + Duration::from_micros(u64::from(PADDING) * 8_000_000 / probing.rate.max(1));
                probing.packets -= 1;
                if probing.packets == 0 {
                    probes.pop_front();
                }
            }
        }
    }
}

impl Probing {
    fn one(&self) -> Inject<'static> {
        Inject::Probe {
            leg: self.leg,
            probe: self.probe,
            rate: self.rate,
            bytes: 0,
            packets: 1,
        }
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
        self.capabilities.unwrap_or_else(|| self.model.capabilities())
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        if let Update::SetRelay(at, _) = &update
            && self.taken.contains(at)
        {
            return Err(WriteError::PortTaken);
        }
        self.model.write(now, update.clone())?;
        match update {
            Update::SetPace(id, pace) => drop(self.paces.insert(id, pace)),
            Update::SetFeedback(from, to) => drop(self.feedback.insert(from, to)),
            Update::SetCopied(..) => {}
            Update::SetLeg(id, leg) => drop(self.legs.insert(id, leg)),
            Update::RemoveLeg(id) => drop(self.legs.remove(&id)),
            Update::SetStream(key, stream) => drop(self.streams.insert(key, stream)),
            Update::RemoveStream(key) => drop(self.streams.remove(&key)),
            Update::SetReplica(id, replica) => {
                self.written.push((now, id, replica.clone()));
                self.replicas.insert(id, replica);
            }
            Update::RemoveReplica(id) => drop(self.replicas.remove(&id)),
            Update::SetRelay(at, relay) => drop(self.relays.insert(at, *relay)),
            Update::RemoveRelay(at) => drop(self.relays.remove(&at)),
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
            } => self.probes.entry(leg).or_default().push_back(Probing {
                due: now,
                leg,
                probe,
                rate,
                packets: packets.max(bytes.div_ceil(PADDING)).max(1),
            }),
            what => self.model.inject(now, what),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        let mut event = self.model.poll();
        if let Some(Event::Departures { leg, departures }) = &mut event
            && let Some(probing) = self.probes.get(leg).and_then(VecDeque::front)
        {
            for departure in departures {
                departure.probe = departure.probe.or(Some(probing.probe));
            }
        }
        event
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.model.counters();
        counters.add(&self.lost);
        counters
    }
}
