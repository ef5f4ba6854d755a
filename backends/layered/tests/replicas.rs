//! Rooms of the model behind an offload that is pretended, and that answers later: nobody sends a
//! replica twice, and its numbers go on whatever the answer.

#![expect(clippy::disallowed_methods, reason = "tests start the clock")]

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use dataplane::{
    Answer, Clock, Counters, DataPlane, Event, Ingress, Leg, LegId, Model, Path, Protection, Refused, Replica,
    ReplicaFormat, ReplicaId, ReplicaOffload, ReplicaSnapshot, ReplicaStatistics, Rewriting, Stream, StreamFormat,
    StreamKey, StreamStatistics, Update, WriteId, Written,
};
use layered::{Entry, ReplicaLayer};
use wire::codec::Layer;
use wire::{Codec, ExtensionMap, MediaKind, NtpTime, PayloadType, Ssrc};

const REPLICA: ReplicaId = ReplicaId(1);
const LISTENER: LegId = LegId(1);
const STREAM: StreamKey = StreamKey {
    leg: LegId(0),
    ssrc: Ssrc(7),
};

/// Sends nothing, and says that it does.
#[derive(Default)]
struct Switch {
    candidates: VecDeque<ReplicaId>,
    asked: Vec<(WriteId, ReplicaId, Option<ReplicaSnapshot>)>,
    written: VecDeque<Written>,
    sends: BTreeSet<ReplicaId>,
    returned: VecDeque<ReplicaId>,
    snapshot: Option<ReplicaSnapshot>,
}

/// The same, for the test and for the layer.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Switch>>);

impl Switch {
    fn settle(&mut self, outcome: Result<(), Refused>) {
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

    fn next_candidate(&mut self) -> Option<ReplicaId> {
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

fn path(number: u16) -> Path {
    Path {
        local: ([10, 0, 0, 1], 7_000).into(),
        remote: ([10, 0, 0, 2], 8_000 + number).into(),
    }
}

fn leg(number: u16) -> Leg {
    Leg {
        paths: vec![path(number)],
        protection: Protection::Clear,
        extensions_in: ExtensionMap::default(),
        extensions_out: ExtensionMap::default(),
    }
}

fn opus() -> PayloadType {
    PayloadType::new(111).unwrap()
}

fn replica(paused: bool) -> Replica {
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
trait Base: DataPlane {
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

struct World<P> {
    plane: P,
    now: Instant,
    sequence: u16,
}

fn model(now: Instant) -> Model {
    Model::new(Clock {
        origin: now,
        ntp: NtpTime(3_900_000_000 << 32),
    })
}

impl<P: Base> World<P> {
    fn new(plane: impl FnOnce(Instant) -> P) -> Self {
        let now = Instant::now();
        let mut world = World {
            plane: plane(now),
            now,
            sequence: 0,
        };
        let stream = Stream {
            kind: MediaKind::Audio,
            formats: vec![StreamFormat {
                payload_type: opus(),
                codec: Codec::Opus,
                rtx: None,
            }],
            rtx: None,
            mid: None,
            reference: None,
        };
        world.write(Update::SetLeg(STREAM.leg, leg(0)));
        world.write(Update::SetLeg(LISTENER, leg(1)));
        world.write(Update::SetStream(STREAM, stream));
        world.write(Update::SetReplica(REPLICA, replica(false)));
        assert_eq!(world.packet(), [100]);
        world
    }

    fn write(&mut self, update: Update) {
        self.plane.write(self.now, update).expect("the model takes it");
    }

    /// A packet of the stream; the numbers of what the base sends.
    fn packet(&mut self) -> Vec<u16> {
        self.now += Duration::from_millis(20);
        self.sequence += 1;
        let mut bytes = vec![0x80, 111];
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend((u32::from(self.sequence) * 960).to_be_bytes());
        bytes.extend(STREAM.ssrc.0.to_be_bytes());
        bytes.extend([1; 40]);
        let (now, mut out) = (self.now, Vec::new());
        let arrival = Ingress {
            path: path(0),
            bytes: &bytes,
        };
        self.plane.model().packet(now, arrival, &mut out);
        let number = |bytes: &[u8]| u16::from_be_bytes([bytes[2], bytes[3]]);
        out.iter().map(|egress| number(&egress.bytes)).collect()
    }

    fn settle(&mut self) {
        while self.plane.poll().is_some() {}
    }
}

fn switched() -> (World<ReplicaLayer<Model, Shared>>, Shared) {
    let switch = Shared::default();
    let world = World::new(|now| ReplicaLayer::new(model(now), switch.clone()));
    (world, switch)
}

/// Has the layer move the replica, as far as the switch's answer.
fn ask<P: Base>(world: &mut World<P>, switch: &Shared) {
    switch.0.borrow_mut().candidates.push_back(REPLICA);
    world.settle();
    world.settle();
    assert_eq!(switch.0.borrow().asked.len(), 1, "it is asked");
}

fn words(world: &World<ReplicaLayer<Model, Shared>>) -> String {
    let entries = world.plane.places().entries().into_iter();
    let mut found = entries.filter(|(entry, _)| *entry == Entry::Replica(REPLICA, LISTENER));
    found.next().map(|(_, placed)| placed.to_string()).unwrap_or_default()
}

#[test]
fn the_base_sends_a_replica_until_the_switch_is_ready() {
    let (mut world, switch) = switched();
    assert_eq!(words(&world), "base (pending)");
    assert_eq!(world.packet(), [101]);
    ask(&mut world, &switch);
    assert_eq!(world.packet(), [0; 0], "neither sends it until the answer");
    switch.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!(words(&world), "switch");
    assert_eq!(world.packet(), [0; 0], "the switch does");
}

#[test]
fn the_base_continues_after_its_last_number_after_a_late_refusal() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    assert_eq!(world.packet(), [0; 0]);
    switch.0.borrow_mut().settle(Err(Refused::Full));
    world.settle();
    assert_eq!(words(&world), "base (full)");
    assert_eq!(world.packet(), [102], "the gap of one packet is shown");
    assert_eq!(world.packet(), [103]);
}

#[test]
fn a_replica_that_changes_before_the_answer_is_not_sent_twice() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    world.write(Update::SetReplica(REPLICA, replica(true)));
    world.write(Update::SetReplica(REPLICA, replica(false)));
    assert_eq!(world.packet(), [0; 0], "the switch may have begun");
    switch.0.borrow_mut().settle(Err(Refused::Full));
    world.settle();
    let numbers = world.packet();
    assert!(numbers.len() == 1 && numbers[0] > 100, "{numbers:?}");
}

#[test]
fn a_replica_that_is_gone_before_the_answer_stays_gone() {
    for outcome in [Ok(()), Err(Refused::Full)] {
        let (mut world, switch) = switched();
        ask(&mut world, &switch);
        world.write(Update::RemoveReplica(REPLICA));
        switch.0.borrow_mut().settle(outcome);
        world.settle();
        assert_eq!((words(&world), world.packet()), (String::new(), Vec::new()));
    }
}

#[test]
fn the_base_continues_replicas_that_a_switch_loses() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    switch.0.borrow_mut().settle(Ok(()));
    world.settle();
    let mut lost = switch.0.borrow_mut();
    lost.sends.clear();
    lost.returned.push_back(REPLICA);
    drop(lost);
    world.settle();
    assert_eq!(words(&world), "base (gone)");
    assert_eq!(world.packet(), [101]);
}

#[test]
fn offloads_in_a_row_are_layers_in_front_of_each_other() {
    let [front, back] = [Shared::default(), Shared::default()];
    let mut world = World::new(|now| ReplicaLayer::new(ReplicaLayer::new(model(now), back.clone()), front.clone()));
    // The one behind has it first.
    ask(&mut world, &back);
    back.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!(world.packet(), [0; 0]);
    // It does not let go to the one in front, which is no loss.
    front.0.borrow_mut().candidates.push_back(REPLICA);
    world.settle();
    world.settle();
    assert!(front.0.borrow().asked.is_empty());
    // The base goes on once neither has it, and the one in front may take it from there.
    back.0.borrow_mut().sends.clear();
    back.0.borrow_mut().returned.push_back(REPLICA);
    world.settle();
    assert_eq!(world.packet(), [102], "the switch has sent one");
    ask(&mut world, &front);
    front.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!(world.packet(), [0; 0]);
    assert!(world.plane.capabilities().copies);
}
