//! Random histories of a room, on a switch that answers late, is full, is lost and restarts.
//!
//! At each step: no replica is sent by both sides, no index has an epoch that its registers may
//! have, and in the end the switch has what is wanted and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::link::LEASE;
use crate::table_writer::GROUP_REST;

const LEGS: u32 = 4;
const REPLICAS: u32 = 8;

#[derive(Clone, Debug)]
enum Step {
    Set {
        replica: u32,
        source: u32,
        temporal: u8,
        paused: bool,
    },
    RemoveReplica(u32),
    Stream(u32),
    RemoveStream(u32),
    RemoveLeg(u32),
    Move(u32, u8),
    Release {
        refused: bool,
    },
    Structure(u32),
    Batch,
    Wait(u16),
    Fill(bool),
    Lose {
        is_done: bool,
    },
    Restart,
    Reconnect,
}

fn step() -> impl Strategy<Value = Step> {
    let temporal = prop_oneof![Just(u8::MAX), 0..3_u8];
    let set = (0..REPLICAS, 0..4_u32, temporal, prop::bool::weighted(0.1));
    let set = set.prop_map(|(replica, source, temporal, paused)| Step::Set {
        replica,
        source,
        temporal,
        paused,
    });
    prop_oneof![
        8 => set,
        2 => (0..REPLICAS).prop_map(Step::RemoveReplica),
        2 => (0..4_u32).prop_map(Step::Stream),
        1 => (0..4_u32).prop_map(Step::RemoveStream),
        1 => (1..=LEGS).prop_map(Step::RemoveLeg),
        1 => ((1..=LEGS), 2..4_u8).prop_map(|(leg, port)| Step::Move(leg, port)),
        6 => prop::bool::weighted(0.1).prop_map(|refused| Step::Release { refused }),
        2 => (0..4_u32).prop_map(Step::Structure),
        20 => Just(Step::Batch),
        6 => (0..2_000_u16).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Fill),
        1 => any::<bool>().prop_map(|is_done| Step::Lose { is_done }),
        1 => Just(Step::Restart),
        2 => Just(Step::Reconnect),
    ]
}

/// The base and the registers of the switch, beside the driver.
#[derive(Default)]
struct Watch {
    /// Replicas that the base has released and not got back.
    released: BTreeSet<u32>,
    taking: BTreeMap<WriteId, u32>,
    /// By index: the epoch that the switch's registers may have, and the entry that brought it.
    registers: BTreeMap<u128, (u128, Vec<u128>)>,
}

impl Watch {
    fn look(&mut self, bench: &mut Bench) {
        for written in bench.written() {
            if let Some(id) = self.taking.remove(&written.write)
                && written.outcome.is_err()
            {
                self.released.remove(&id);
            }
        }
        for id in bench.returned() {
            self.released.remove(&id);
        }
        bench.events();
        let mut indexes = BTreeMap::new();
        for (key, data) in bench.switch.of(Table::Replica) {
            let (index, epoch) = (data[0], data[1]);
            // A leg that moves to another port has an entry for each for a moment.
            let other = indexes.insert(index, &key[..2]);
            assert!(
                other.is_none_or(|other| other == &key[..2]),
                "two replicas have one index"
            );
            let before = self.registers.insert(index, (epoch, key[..2].to_vec()));
            if let Some((before, _)) = before.filter(|(_, owner)| owner[..] != key[..2]) {
                assert_ne!(before, epoch, "index {index} has the state of another replica");
            }
        }
        for id in (0..REPLICAS).filter(|id| bench.sends(*id)) {
            assert!(self.released.contains(&id), "replica {id} is sent by both sides");
        }
    }

    fn release(&mut self, bench: &mut Bench, refused: bool) {
        let Some((id, at_key_frame)) = bench.candidate() else {
            return;
        };
        let source = bench.core.rooms.replicas.get(ReplicaId(id)).unwrap().replica.source;
        let from = ReplicaSnapshot {
            source: source.filter(|_| !at_key_frame),
            ..ReplicaSnapshot::default()
        };
        bench.writes += 1;
        let write = WriteId(bench.writes);
        let from = (!refused).then_some(from);
        let answer = bench.rooms(|rooms, context| rooms.take_over(context, write, ReplicaId(id), from));
        if answer == Answer::Pending {
            self.released.insert(id);
            self.taking.insert(write, id);
        }
    }
}

fn source(number: u32) -> (StreamKey, Stream) {
    match number {
        0 | 1 => (key(number + 1, 10), opus()),
        _ => (key(number - 1, 11), av1()),
    }
}

fn leg_of(replica: u32) -> u32 {
    1 + (replica + 1) % LEGS
}

impl Bench {
    fn has_leg(&self, id: LegId) -> bool {
        self.core.rooms.legs.contains_key(&id)
    }

    fn set_some(&mut self, id: u32, number: u32, temporal: u8, paused: bool) -> Option<Result<(), Refused>> {
        let (key, stream) = source(number);
        let is_there = self.core.rooms.streams.contains_key(&key) && self.has_leg(LegId(leg_of(id)));
        let (payload, temporal) = match stream.kind {
            MediaKind::Audio => (AUDIO, u8::MAX),
            MediaKind::Video => (VIDEO, temporal),
        };
        let entry = Replica {
            target: Layer {
                spatial: u8::MAX,
                temporal,
            },
            paused,
            ..replica(leg_of(id), 100 + id, key, payload)
        };
        is_there.then(|| self.rooms(|rooms, context| rooms.set_replica(context, ReplicaId(id), entry)))
    }

    fn act(&mut self, watch: &mut Watch, step: Step) {
        match step {
            Step::Set {
                replica,
                source,
                temporal,
                paused,
            } => {
                let answer = self.set_some(replica, source, temporal, paused);
                let is_taking = watch.taking.values().any(|taking| *taking == replica);
                if matches!(answer, Some(Err(_))) && !is_taking {
                    watch.released.remove(&replica);
                }
            }
            Step::RemoveReplica(id) => {
                self.rooms(|rooms, context| rooms.remove_replica(context, ReplicaId(id)));
                watch.released.remove(&id);
            }
            Step::Stream(number) => {
                let (key, stream) = source(number);
                if self.has_leg(key.leg) {
                    let _ = self.rooms(|rooms, context| rooms.set_stream(context, key, stream));
                }
            }
            Step::RemoveStream(number) => self.rooms(|rooms, context| rooms.remove_stream(context, source(number).0)),
            Step::RemoveLeg(id) => {
                self.rooms(|rooms, context| rooms.remove_leg(context, LegId(id)));
                watch.released.retain(|replica| leg_of(*replica) != id);
            }
            Step::Move(id, port) => {
                let mut leg = leg(id);
                leg.paths[0].remote = format!("10.0.{port}.5:{}", 4_000 + id).parse().unwrap();
                let _ = self.rooms(|rooms, context| rooms.set_leg(context, LegId(id), leg));
            }
            Step::Release { refused } => watch.release(self, refused),
            Step::Structure(number) => {
                let row = self.core.rooms.streams.get(&source(number).0);
                if let Some(stream) = row.and_then(|row| row.number) {
                    let packet = PacketIn {
                        reason: 1,
                        stream,
                        frame: frame(&media(100, 9_000, Some(&bytes(L1T3)))),
                        ..PacketIn::default()
                    };
                    self.core.at(self.now).packet_in(Some(packet));
                }
            }
            Step::Batch => drop(self.switch.step(&mut self.core)),
            Step::Wait(time) => {
                self.now += Duration::from_millis(time.into());
                self.core.at(self.now);
                if self.core.link.away().is_none() {
                    self.core.link.answered(self.now);
                    self.core.renews();
                }
                self.core.tick();
            }
            Step::Fill(is_full) => {
                self.switch.full = if is_full {
                    vec![Table::Replica, Table::PayloadType]
                } else {
                    Vec::new()
                };
                self.switch.groups_are_full = is_full;
            }
            Step::Lose { is_done } => {
                for write in self.core.next_batch() {
                    if is_done {
                        let _ = self.switch.write(&write);
                    }
                }
                self.core.at(self.now).down(Away::Unreachable);
            }
            Step::Restart => {
                self.core.at(self.now).down(Away::Unreachable);
                self.switch.entries.clear();
                watch.registers.clear();
                self.core.installed();
                self.core.up();
            }
            Step::Reconnect => {
                if self.core.link.away().is_some() {
                    self.core.at(self.now).found(self.switch.entries.clone(), 0);
                    self.core.up();
                }
            }
        }
        watch.look(self);
    }
}

proptest! {
    #[test]
    fn a_room_is_consistent_whatever_the_switch_does(steps in prop::collection::vec(step(), 100..300)) {
        let mut bench = Bench::new();
        let mut watch = Watch::default();
        bench.legs(LEGS);
        // So few that they are used again.
        bench.core.rooms.indexes = Slots::new(0, 3);
        bench.core.rooms.rids = Slots::new(1, 4);
        bench.core.rooms.numbers = Slots::new(1, 4);
        for number in 0..4 {
            bench.act(&mut watch, Step::Stream(number));
        }
        for step in steps {
            bench.act(&mut watch, step);
        }
        bench.act(&mut watch, Step::Fill(false));
        bench.act(&mut watch, Step::Reconnect);
        bench.pass(4 * LEASE);
        watch.look(&mut bench);
        for leg in 1..=LEGS {
            bench.act(&mut watch, Step::RemoveLeg(leg));
        }
        bench.pass(2 * GROUP_REST);
        let is_left = |key: &&Key| !matches!(key, Key::Session(_) | Key::Entry(Table::Nexthop, _));
        let left: Vec<&Key> = bench.switch.entries.keys().filter(is_left).collect();
        prop_assert!(left.is_empty(), "{left:?}");
    }
}
