//! Rooms of the model behind an offload that is pretended, and that answers later.
#![allow(dead_code, reason = "every user has its own part")]

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use dataplane::{
    Answer, Candidate, Clock, Counters, DataPlane, Event, Ingress, Leg, LegId, Model, Path, Protection, Refused,
    Replica, ReplicaFormat, ReplicaId, ReplicaOffload, ReplicaSnapshot, ReplicaStatistics, Rewriting, Stream,
    StreamFormat, StreamKey, StreamStatistics, Update, WriteId, Written,
};
use layered::{Entry, ReplicaLayer};
use wire::codec::Layer;
use wire::{Codec, ExtensionMap, MediaKind, NtpTime, PayloadType, Ssrc};

pub(crate) const REPLICA: ReplicaId = ReplicaId(1);
pub(crate) const LISTENER: LegId = LegId(1);
pub(crate) const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(7),
};

/// Sends nothing, and says that it does.
#[derive(Default)]
pub(crate) struct Switch {
    pub(crate) candidates: VecDeque<Candidate>,
    pub(crate) asked: Vec<(WriteId, ReplicaId, Option<ReplicaSnapshot>)>,
    pub(crate) written: VecDeque<Written>,
    pub(crate) sends: BTreeSet<ReplicaId>,
    pub(crate) returned: VecDeque<ReplicaId>,
    pub(crate) snapshot: Option<ReplicaSnapshot>,
    pub(crate) withdrawn: Vec<ReplicaId>,
}

/// The same, for the test and for the layer.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub(crate) Rc<RefCell<Switch>>);

impl Switch {
    pub(crate) fn settle(&mut self, outcome: Result<(), Refused>) {
        let (write, id, from) = self.asked.remove(0);
        if outcome.is_ok() {
            self.sends.insert(id);
            self.snapshot = from;
        }
        self.written.push_back(Written {
            write,
            outcome,
            traffic: None,
        });
    }
}

impl ReplicaOffload for Shared {
    fn offer(&mut self, _: Instant, update: &Update) -> Result<(), Refused> {
        match update {
            Update::SetReplica(id, _) if self.sends(*id) => Ok(()),
            Update::SetReplica(..) => Err(Refused::Pending),
            Update::RemoveReplica(id) => {
                self.0.borrow_mut().sends.remove(id);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        None
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn sends(&self, replica: ReplicaId) -> bool {
        self.0.borrow().sends.contains(&replica)
    }

    fn snapshot(&self, replica: ReplicaId) -> Option<ReplicaSnapshot> {
        self.0.borrow().snapshot.filter(|_| !self.sends(replica))
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        self.0.borrow_mut().candidates.pop_front()
    }

    fn take_over(&mut self, write: WriteId, id: ReplicaId, from: Option<ReplicaSnapshot>, _: u16) -> Answer {
        if from.is_none() {
            return Answer::Refused(Refused::Full);
        }
        self.0.borrow_mut().asked.push((write, id, from));
        Answer::Pending
    }

    fn next_written(&mut self) -> Option<Written> {
        self.0.borrow_mut().written.pop_front()
    }

    fn withdraw(&mut self, id: ReplicaId) {
        let mut switch = self.0.borrow_mut();
        switch.sends.remove(&id);
        switch.withdrawn.push(id);
    }

    fn next_returned(&mut self) -> Option<ReplicaId> {
        self.0.borrow_mut().returned.pop_front()
    }

    fn nack(&mut self, _: Instant, _: ReplicaId, _: &[u16]) {}

    fn replica_statistics(&self, _: ReplicaId) -> Option<ReplicaStatistics> {
        None
    }

    fn stream_statistics(&self, _: StreamKey) -> Option<StreamStatistics> {
        None
    }

    fn name(&self) -> &'static str {
        "switch"
    }
}

pub(crate) fn path(number: u16) -> Path {
    Path {
        local: ([10, 0, 0, 1], 7_000).into(),
        remote: ([10, 0, 0, 2], 8_000 + number).into(),
    }
}

pub(crate) fn leg(number: u16) -> Leg {
    Leg {
        paths: vec![path(number)],
        shared: None,
        protection: Protection::Clear,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }
}

pub(crate) fn opus() -> PayloadType {
    PayloadType::new(111).unwrap()
}

fn stream(kind: MediaKind, codec: Codec) -> Stream {
    Stream {
        kind,
        formats: vec![StreamFormat {
            payload_type: opus(),
            codec,
            rtx: None,
        }],
        rtx: None,
        mid: None,
        reference: None,
    }
}

pub(crate) fn video() -> Stream {
    stream(MediaKind::Video, Codec::Vp8)
}

pub(crate) fn replica(paused: bool) -> Replica {
    Replica {
        leg: LISTENER,
        ssrc: Ssrc(9),
        first_sequence: 100,
        rtx: None,
        formats: vec![ReplicaFormat {
            source: opus(),
            payload_type: opus(),
            rtx: None,
            primary_only: false,
        }],
        mid: None,
        playout_delay: None,
        source: Some(STREAM),
        target: Layer::default(),
        fallback_spatial: None,
        rewriting: Rewriting::Exact,
        paused,
    }
}

/// A layer of which the test knows the base.
pub(crate) trait Base: DataPlane {
    fn model(&mut self) -> &mut Model;
}

impl Base for ReplicaLayer<Model, Shared> {
    fn model(&mut self) -> &mut Model {
        self.base_mut()
    }
}

impl Base for ReplicaLayer<ReplicaLayer<Model, Shared>, Shared> {
    fn model(&mut self) -> &mut Model {
        self.base_mut().base_mut()
    }
}

pub(crate) struct World<P> {
    pub(crate) plane: P,
    pub(crate) now: Instant,
    pub(crate) sequence: u16,
    payload: [u8; 40],
}

/// VP8: the first packet of a frame, whose first bit is 0 in a key frame.
const KEY_FRAME: [u8; 40] = {
    let mut payload = [0; 40];
    payload[0] = 0x10;
    payload
};

const DELTA_FRAME: [u8; 40] = {
    let mut payload = KEY_FRAME;
    payload[1] = 1;
    payload
};

pub(crate) fn model(now: Instant) -> Model {
    Model::new(Clock {
        origin: now,
        ntp: NtpTime(3_900_000_000 << 32),
    })
}

impl<P: Base> World<P> {
    pub(crate) fn new(plane: impl FnOnce(Instant) -> P) -> Self {
        Self::of(MediaKind::Audio, Codec::Opus, [1; 40], plane)
    }

    /// With video, which begins with a key frame.
    pub(crate) fn of_video(plane: impl FnOnce(Instant) -> P) -> Self {
        Self::of(MediaKind::Video, Codec::Vp8, KEY_FRAME, plane)
    }

    fn of(kind: MediaKind, codec: Codec, payload: [u8; 40], plane: impl FnOnce(Instant) -> P) -> Self {
        let now = Instant::now();
        let mut world = World {
            plane: plane(now),
            now,
            sequence: 0,
            payload,
        };
        let stream = stream(kind, codec);
        world.write(Update::SetLeg(STREAM.leg, leg(0)));
        world.write(Update::SetLeg(LISTENER, leg(1)));
        world.write(Update::SetStream(STREAM, stream));
        world.write(Update::SetReplica(REPLICA, replica(false)));
        assert_eq!(world.packet(), [100]);
        world
    }

    pub(crate) fn write(&mut self, update: Update) {
        self.plane.write(self.now, update).expect("the model takes it");
    }

    /// A packet of the stream; the numbers of what the base sends.
    pub(crate) fn packet(&mut self) -> Vec<u16> {
        self.now += Duration::from_millis(20);
        self.sequence += 1;
        let mut bytes = vec![0x80, 111];
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend((u32::from(self.sequence) * 960).to_be_bytes());
        bytes.extend(STREAM.ssrc.0.to_be_bytes());
        bytes.extend(self.payload);
        let (now, mut out) = (self.now, Vec::new());
        let arrival = Ingress {
            path: path(0),
            bytes: &bytes,
        };
        self.plane.model().packet(now, arrival, &mut out);
        let number = |bytes: &[u8]| u16::from_be_bytes([bytes[2], bytes[3]]);
        out.iter().map(|egress| number(&egress.bytes)).collect()
    }

    /// The same of a key frame.
    pub(crate) fn key_frame(&mut self) -> Vec<u16> {
        self.payload = KEY_FRAME;
        self.packet()
    }

    pub(crate) fn delta_frame(&mut self) -> Vec<u16> {
        self.payload = DELTA_FRAME;
        self.packet()
    }

    pub(crate) fn settle(&mut self) {
        while self.plane.poll().is_some() {}
    }

    /// Whether the layer reports meanwhile that the replica waits for a key frame.
    pub(crate) fn awaits(&mut self) -> bool {
        let mut awaits = false;
        while let Some(event) = self.plane.poll() {
            if let Event::Selected { awaits_key_frame, .. } = event {
                awaits = awaits_key_frame;
            }
        }
        awaits
    }
}

pub(crate) fn switched() -> (World<ReplicaLayer<Model, Shared>>, Shared) {
    let switch = Shared::default();
    let world = World::new(|now| ReplicaLayer::new(model(now), switch.clone()));
    (world, switch)
}

/// Has the switch name the replica.
pub(crate) fn offer(switch: &Shared, at_key_frame: bool) {
    let candidate = Candidate {
        replica: REPLICA,
        at_key_frame,
    };
    switch.0.borrow_mut().candidates.push_back(candidate);
}

/// Has the layer move the replica, as far as the switch's answer.
pub(crate) fn ask<P: Base>(world: &mut World<P>, switch: &Shared) {
    offer(switch, false);
    world.settle();
    world.settle();
    assert_eq!(switch.0.borrow().asked.len(), 1, "it is asked");
}

pub(crate) fn words(world: &World<ReplicaLayer<Model, Shared>>) -> String {
    let entries = world.plane.places().entries().into_iter();
    let mut found = entries.filter(|(entry, _)| *entry == Entry::Replica(REPLICA, LISTENER));
    found.next().map(|(_, placed)| placed.to_string()).unwrap_or_default()
}
