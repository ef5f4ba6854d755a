//! Meetings whose members come, go and change their layers while packets flow.
//!
//! After each batch of writes, a packet of any layer of any stream is copied exactly once to each
//! replica that the switch sends and whose entry asks for the layer.

use proptest::prelude::*;

use super::*;
use crate::Replication;

/// Legs in the two meetings; a step may let a stream of one go to the other.
const LEGS: u32 = 8;

#[derive(Clone, Debug)]
enum Step {
    Set {
        from: u32,
        to: u32,
        temporal: u8,
        exact: bool,
    },
    Remove {
        from: u32,
        to: u32,
    },
    RemoveLeg(u32),
    Move(u32, u8),
    Batch,
    Work,
    Wait(u16),
    Fill(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let pair = || {
        let far = prop::bool::weighted(0.05);
        (1..=LEGS, 0..LEGS / 2, far).prop_map(|(from, to, far)| {
            let first = if (from <= LEGS / 2) ^ far { 1 } else { LEGS / 2 + 1 };
            (from, first + to)
        })
    };
    let temporal = prop_oneof![2 => Just(u8::MAX), 3 => 0..3_u8];
    let set = (pair(), temporal, prop::bool::weighted(0.1));
    prop_oneof![
        20 => set.prop_map(|((from, to), temporal, exact)| Step::Set { from, to, temporal, exact }),
        2 => pair().prop_map(|(from, to)| Step::Remove { from, to }),
        1 => (1..=LEGS).prop_map(Step::RemoveLeg),
        1 => (1..=LEGS, 2..4_u8).prop_map(|(leg, port)| Step::Move(leg, port)),
        10 => Just(Step::Batch),
        4 => Just(Step::Work),
        5 => (0..2_500_u16).prop_map(Step::Wait),
        1 => prop::bool::weighted(0.3).prop_map(Step::Fill),
    ]
}

/// The number of the replica of a leg's stream to another.
fn id(from: u32, to: u32) -> u32 {
    from * 10 + to
}

/// The rids that a packet of a layer reaches by a way: group, branches and exclusion id.
fn reached(switch: &FakeSwitch, replication: Replication, way: &[u128]) -> Vec<u128> {
    let (group, branches, exclude) = (way[0], way[1], way[2]);
    if replication == Replication::Multicast && branches == 0 {
        let Some(Value::Copies(copies)) = switch.entries.get(&Key::Group(group as u16)) else {
            return Vec::new();
        };
        let copies = copies.iter().map(|(_, number)| u128::from(*number));
        let copies = copies.filter(|number| (number >> 15) + 1 != exclude);
        return copies.map(|number| number & 0x7fff).collect();
    }
    let leaves = if replication == Replication::Tree {
        1 << branches
    } else {
        branches
    };
    let members = switch.of(Table::Participant).into_iter();
    let members = members.filter(|(key, _)| key[0] == group && key[1] < leaves);
    members.map(|(_, data)| data[0]).collect()
}

impl Bench {
    /// Looks where packets of all streams and layers go.
    fn look(&self, replication: Replication) {
        // Of a leg that moved, the entry of its earlier address may still be there.
        let senders = self.core.rooms.streams.values().flat_map(|row| &row.entries);
        let senders = senders.filter(|(key, _)| key.table() == Some(Table::Sender));
        let senders = senders.filter_map(|(key, _)| match self.switch.entries.get(key)? {
            Value::Data(data) => Some(data),
            _ => None,
        });
        let senders: BTreeMap<u128, &Vec<u128>> = senders.map(|data| (data[0], data)).collect();
        // A replica that has just left may still have its entry, also where another one of the same
        // leg and stream is there already, which has another index.
        let is_wanted = |key: &[u128], index: u128| {
            let key = Key::Entry(Table::Replica, key.to_vec());
            let id = self.core.rooms.replica_of(&key);
            let on_switch = id.and_then(|id| self.core.rooms.on_switch(id));
            on_switch.is_some_and(|it| it.entries.contains_key(&key) && u128::from(it.index) == index)
        };
        for (key, data) in self.switch.of(Table::Replica) {
            let (rid, stream, temporal) = (key[0], key[1], data[10]);
            if !is_wanted(key, data[0]) {
                continue;
            }
            let Some(sender) = senders.get(&stream) else { continue };
            for layer in 0..=temporal.min(2) {
                let row = Key::Entry(Table::LayerGroup, vec![stream, layer]);
                let way = match self.switch.entries.get(&row) {
                    Some(Value::Data(row)) => &row[..],
                    _ => &sender[1..4],
                };
                let reached = reached(&self.switch, replication, way);
                let copies = reached.iter().filter(|other| **other == rid).count();
                assert_eq!(copies, 1, "layer {layer} of stream {stream} to {rid} by {way:?}");
            }
        }
    }

    fn release(&mut self) {
        while let Some((id, at_key_frame)) = self.candidate() {
            let source = self.core.rooms.replicas.get(ReplicaId(id)).unwrap().replica.source;
            let from = ReplicaSnapshot {
                source: source.filter(|_| !at_key_frame),
                ..ReplicaSnapshot::default()
            };
            self.writes += 1;
            let write = WriteId(self.writes);
            self.rooms(|rooms, context| rooms.take_over(context, write, ReplicaId(id), Some(from)));
        }
        self.written();
        self.returned();
        // Each has begun.
        let places: Vec<_> = self
            .switch
            .of(Table::Replica)
            .iter()
            .map(|(_, data)| (data[0], data[1]))
            .collect();
        for (index, epoch) in places {
            let packet = PacketIn {
                reason: 3,
                index: index as u32,
                epoch: epoch as u8,
                source_number: 1_001,
                sent_number: 71,
                frame: frame(&media(1_001, 9_000, None)),
                ..PacketIn::default()
            };
            self.core.at(self.now).packet_in(Some(packet));
        }
        self.events();
    }

    /// Each step of the switch is followed by a look.
    fn watched(&mut self, replication: Replication) {
        while self.switch.step(&mut self.core) {
            self.look(replication);
            self.release();
        }
    }

    fn replicate(&mut self, replication: Replication, step: Step) {
        match step {
            Step::Set {
                from,
                to,
                temporal,
                exact,
            } => {
                let source = key(from, 10);
                if !self.core.rooms.streams.contains_key(&source) || !self.core.rooms.legs.contains_key(&LegId(to)) {
                    return;
                }
                let rewriting = if exact { Rewriting::Exact } else { Rewriting::LowMemory };
                let target = Layer { spatial: 0, temporal };
                let entry = Replica {
                    rewriting,
                    target,
                    ..replica(to, id(from, to), source, VIDEO)
                };
                let _ = self.rooms(|rooms, context| rooms.set_replica(context, ReplicaId(id(from, to)), entry));
                let row = &self.core.rooms.streams[&source];
                if row.number.is_some() && !row.templates.are_known() {
                    self.structure(source, L1T3);
                }
            }
            Step::Remove { from, to } => {
                self.rooms(|rooms, context| rooms.remove_replica(context, ReplicaId(id(from, to))));
            }
            Step::RemoveLeg(leg) => {
                self.rooms(|rooms, context| rooms.remove_leg(context, LegId(leg)));
                self.meet(leg);
            }
            Step::Move(id, port) => {
                let mut leg = leg(id);
                leg.paths[0].remote = format!("10.0.{port}.5:{}", 4_000 + id).parse().unwrap();
                let _ = self.rooms(|rooms, context| rooms.set_leg(context, LegId(id), leg));
            }
            Step::Batch => drop(self.switch.step(&mut self.core)),
            Step::Work => self.watched(replication),
            Step::Wait(time) => {
                self.now += Duration::from_millis(time.into());
                self.core.at(self.now).link.answered(self.now);
                self.core.renews();
                self.core.tick();
            }
            Step::Fill(is_full) => self.switch.groups_are_full = is_full,
        }
        self.look(replication);
        self.release();
    }

    /// A leg comes with its stream.
    fn meet(&mut self, id: u32) {
        let leg = leg(id);
        self.rooms(|rooms, context| rooms.set_leg(context, LegId(id), leg))
            .unwrap();
        let _ = self.rooms(|rooms, context| rooms.set_stream(context, key(id, 10), av1()));
    }
}

fn run(replication: Replication, steps: Vec<Step>) -> Bench {
    let mut bench = Bench::with(crate::P4Config {
        replication,
        ..config()
    });
    (1..=LEGS).for_each(|id| bench.meet(id));
    for step in steps {
        bench.replicate(replication, step);
    }
    bench.replicate(replication, Step::Fill(false));
    for _ in 0..40 {
        bench.replicate(replication, Step::Wait(1_000));
        bench.watched(replication);
    }
    bench
}

proptest! {
    #[test]
    fn meetings_in_trees_get_each_packet_once(steps in prop::collection::vec(step(), 50..200)) {
        run(Replication::Multicast, steps);
    }

    #[test]
    fn meetings_in_passes_get_each_packet_once(steps in prop::collection::vec(step(), 50..200), is_tree: bool) {
        run(if is_tree { Replication::Tree } else { Replication::Recirculation }, steps);
    }
}

/// Everybody of a meeting of four gets everybody else, and leg 4 this layer of each.
fn four(temporal: u8) -> Vec<Step> {
    let pairs = (1..=4).flat_map(|from| (1..=4).map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to);
    let set = |(from, to)| {
        let temporal = if to == 4 { temporal } else { u8::MAX };
        Step::Set {
            from,
            to,
            temporal,
            exact: false,
        }
    };
    pairs.map(set).chain([Step::Work]).collect()
}

#[test]
fn layers_outside_a_target_are_not_copied_after_a_while() {
    let ways = |bench: &Bench| {
        let rows = bench.switch.of(Table::LayerGroup).len();
        let copies = bench.switch.groups().into_values().map(|copies| copies.len());
        (rows, copies.collect::<Vec<_>>())
    };
    let mut bench = run(Replication::Multicast, four(u8::MAX));
    assert_eq!(ways(&bench), (0, vec![4]), "NRA: one tree");
    for step in four(0) {
        bench.replicate(Replication::Multicast, step);
    }
    assert_eq!(ways(&bench), (0, vec![4]), "it may be for a moment only");
    bench.pass(Duration::from_secs(4));
    assert_eq!(ways(&bench), (8, vec![7, 3]), "RA-R: three branches in two trees");
    let step = Step::Set {
        from: 1,
        to: 4,
        temporal: 2,
        exact: false,
    };
    bench.replicate(Replication::Multicast, step);
    bench.pass(Duration::from_secs(1));
    bench.look(Replication::Multicast);
    assert_eq!(bench.switch.groups().len(), 6, "RA-SR: twelve branches");
    for step in four(u8::MAX) {
        bench.replicate(Replication::Multicast, step);
    }
    bench.pass(Duration::from_secs(1));
    assert_eq!(ways(&bench), (8, vec![4]), "NRA, by which all rows lead");
}

#[test]
fn meetings_of_a_switch_without_room_for_layers_keep_their_replicas() {
    let mut bench = run(Replication::Multicast, four(u8::MAX));
    bench.switch.groups_are_full = true;
    for step in four(0) {
        bench.replicate(Replication::Multicast, step);
    }
    bench.pass(Duration::from_secs(4));
    assert_eq!(bench.core.rooms.len(), 12);
    assert_eq!(bench.switch.groups().len(), 1);
    bench.switch.groups_are_full = false;
    bench.pass(Duration::from_secs(31));
    assert_eq!(bench.switch.groups().len(), 2, "RA-R after all");
}

#[test]
fn replicas_wait_for_lower_layers_only_while_they_have_higher_ones() {
    let mut bench = run(Replication::Multicast, four(u8::MAX));
    let waiting = |bench: &Bench| bench.core.rooms.lowering.len();
    assert_eq!(waiting(&bench), 0);
    for step in four(0) {
        bench.replicate(Replication::Multicast, step);
    }
    assert_eq!(waiting(&bench), 3, "leg 4 gets three streams");
    bench.rooms(|rooms, context| rooms.remove_replica(context, ReplicaId(id(1, 4))));
    bench.replicate(
        Replication::Multicast,
        Step::Set {
            from: 2,
            to: 4,
            temporal: u8::MAX,
            exact: false,
        },
    );
    bench.pass(Duration::from_millis(100));
    assert_eq!(waiting(&bench), 1, "one is gone, and one is to have all again");
    bench.pass(Duration::from_secs(4));
    assert_eq!(waiting(&bench), 0);
    bench.look(Replication::Multicast);
}
