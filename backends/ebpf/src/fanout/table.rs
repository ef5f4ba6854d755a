//! All entries, the place where each runs, and the kernel's copy of those that run there.
//!
//! A stream is in the kernel while it has a replica there. On any change, the whole entry is
//! written to a new place, and then the kernel is given that place: a packet sees all of a change
//! or nothing of it. [`placement`] decides where a replica runs, [`sync`] writes.

mod legs;
mod pairs;
mod placement;
mod promotion;
mod sync;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use dataplane::{
    Leg, LegId, Reason, Refused, Replica, ReplicaId, ReplicaSnapshot, ReplicaStatistics, Stream, StreamKey,
};

use self::pairs::Pairs;
use self::promotion::Promotion;
use super::adopted::Adopted;
use super::fit;
use super::kernel::{Kernel, set};
use super::slots::Slots;
use super::stamp::Counts;
use crate::layout::fanout::{
    FANOUT_REPLICA_ENTRIES, FANOUT_REPLICAS, FANOUT_STREAM_ENTRIES, FANOUT_STREAMS, Probe, ReplicaCell, ReplicaEntry,
    StreamCell,
};

pub(super) struct EntryTable {
    pub(super) kernel: Kernel,
    /// Whether copied packets also go to the base in any case.
    goes_up: bool,
    legs: BTreeMap<LegId, Leg>,
    pairs: Pairs,
    streams: BTreeMap<StreamKey, StreamRow>,
    replicas: BTreeMap<ReplicaId, ReplicaRow>,
    /// Streams by their state.
    by_state: HashMap<u32, StreamKey>,
    /// The assignment of transport-wide numbers to legs.
    pub(super) counts: Counts,
    /// Replicas that left the kernel, and the states with which they continue.
    left: BTreeMap<ReplicaId, ReplicaSnapshot>,
    /// Replicas of the base's that could be here.
    promotion: Promotion,
    /// Entries that an earlier process left.
    adopted: Adopted,
    stream_entries: Slots,
    stream_states: Slots,
    replica_entries: Slots,
    replica_states: Slots,
}

struct StreamRow {
    entry: Stream,
    /// Its replicas, including those that may still follow it.
    members: BTreeSet<ReplicaId>,
    state: Option<u32>,
    /// The place of its entry, while the kernel has it.
    place: Option<u32>,
    /// Whether its copies are sent by interfaces that the driver cannot broadcast to.
    in_stack: bool,
}

struct ReplicaRow {
    entry: Replica,
    /// Streams it may still follow, until it follows its source.
    lingers: BTreeSet<StreamKey>,
    epoch: u32,
    location: Location,
    /// The counts of what was sent from here before it left, each time that it did.
    sent: ReplicaStatistics,
}

/// The side that runs a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Kernel {
        state: u32,
        place: Option<(u32, ReplicaEntry)>,
    },
    /// `begun` once the base may have sent any of it: its numbers are then the base's, until the
    /// base states them.
    Base { why: Refused, begun: bool },
}

impl EntryTable {
    pub(super) fn new(kernel: Kernel, goes_up: bool, adopted: Adopted) -> Self {
        EntryTable {
            kernel,
            goes_up,
            legs: BTreeMap::new(),
            pairs: Pairs::new(adopted.legs_from),
            streams: BTreeMap::new(),
            replicas: BTreeMap::new(),
            by_state: HashMap::new(),
            counts: Counts::new(&adopted.counts),
            left: BTreeMap::new(),
            promotion: Promotion::default(),
            stream_entries: Slots::new(FANOUT_STREAM_ENTRIES, &adopted.stream_entries),
            stream_states: Slots::new(FANOUT_STREAMS, &adopted.stream_states),
            replica_entries: Slots::new(FANOUT_REPLICA_ENTRIES, &adopted.replica_entries),
            replica_states: Slots::new(FANOUT_REPLICAS, &adopted.replica_states),
            adopted,
        }
    }

    /// The number of streams that an earlier process left.
    pub(super) fn found(&self) -> usize {
        self.adopted.streams()
    }

    /// The time at which adopted entries are removed.
    pub(super) fn sweeps_at(&self) -> Option<Instant> {
        self.adopted.until
    }

    /// Removes the entries that an earlier process left and that nobody owns.
    pub(super) fn sweep(&mut self, now: Instant) {
        let adopted = std::mem::take(&mut self.adopted);
        adopted.remove_from(&mut self.kernel);
        for (slots, places) in [
            (&mut self.stream_entries, adopted.stream_entries),
            (&mut self.stream_states, adopted.stream_states),
            (&mut self.replica_entries, adopted.replica_entries),
            (&mut self.replica_states, adopted.replica_states),
        ] {
            places.into_iter().for_each(|place| slots.give_up(place, now));
        }
        self.counts.free(now, adopted.counts);
    }

    pub(super) fn set_stream(&mut self, now: Instant, key: StreamKey, entry: Stream) -> Result<(), Refused> {
        let members = match self.streams.get_mut(&key) {
            Some(table) => {
                table.entry = entry;
                table.members.iter().copied().collect()
            }
            None => {
                let new = StreamRow {
                    entry,
                    members: BTreeSet::new(),
                    state: None,
                    place: None,
                    in_stack: false,
                };
                self.streams.insert(key, new);
                Vec::new()
            }
        };
        self.settle(now, &members);
        self.publish(now, key);
        self.fits(key)
    }

    pub(super) fn remove_stream(&mut self, now: Instant, key: StreamKey) {
        let Some(table) = self.streams.get_mut(&key) else {
            return;
        };
        let (members, state) = (std::mem::take(&mut table.members), table.state);
        self.publish(now, key);
        self.streams.remove(&key);
        for id in &members {
            let follows = self.source_of(*id).is_some_and(|source| Some(source) == state);
            if let Some(replica) = self.replicas.get_mut(id) {
                replica.lingers.remove(&key);
                replica.entry.source = replica.entry.source.filter(|source| *source != key);
                if follows {
                    replica.epoch = replica.epoch.wrapping_add(1);
                }
            }
        }
        self.settle(now, &members.into_iter().collect::<Vec<_>>());
    }

    /// The state of the stream a replica follows in the kernel.
    fn source_of(&self, id: ReplicaId) -> Option<u32> {
        let (_, cell) = self.replica(id)?;
        cell.progress.source.checked_sub(1)
    }

    pub(super) fn set_replica(&mut self, now: Instant, id: ReplicaId, entry: Replica) -> Result<(), Refused> {
        let table = self.replicas.entry(id).or_insert_with(|| ReplicaRow {
            entry: entry.clone(),
            lingers: BTreeSet::new(),
            epoch: 0,
            location: Location::Base {
                why: Refused::Unsupported(Reason::Companion),
                begun: false,
            },
            sent: ReplicaStatistics::default(),
        });
        let before = table.entry.source;
        let starts_anew = entry.paused || entry.source.is_none();
        let mut left = Vec::new();
        if starts_anew {
            table.epoch = table.epoch.wrapping_add(1);
            left.extend(std::mem::take(&mut table.lingers));
            left.extend(before.filter(|before| entry.source != Some(*before)));
        } else if before != entry.source {
            table.lingers.extend(before);
        }
        table.entry = entry;
        for key in left {
            if let Some(stream) = self.streams.get_mut(&key) {
                stream.members.remove(&id);
            }
            self.publish(now, key);
        }
        if let Some(stream) = book_source(&self.replicas, id).and_then(|key| self.streams.get_mut(&key)) {
            stream.members.insert(id);
        }
        self.settle(now, &[id]);
        match self.replicas[&id].location {
            Location::Kernel { .. } => Ok(()),
            Location::Base { why, .. } => Err(why),
        }
    }

    pub(super) fn remove_replica(&mut self, now: Instant, id: ReplicaId) {
        let Some(table) = self.replicas.remove(&id) else { return };
        self.left.remove(&id);
        self.promotion.forget(id);
        for key in table.lingers.iter().chain(&table.entry.source) {
            if let Some(stream) = self.streams.get_mut(key) {
                stream.members.remove(&id);
            }
            self.publish(now, *key);
        }
        self.give_up(now, table.location);
    }

    /// A replica has begun to follow a stream: it can follow none of its earlier ones any more.
    pub(super) fn follows(&mut self, now: Instant, id: ReplicaId, key: StreamKey) {
        let Some(table) = self.replicas.get_mut(&id) else {
            return;
        };
        let gone: Vec<StreamKey> = table.lingers.iter().filter(|other| **other != key).copied().collect();
        table.lingers.retain(|other| *other == key);
        let source = table.entry.source;
        for other in gone.into_iter().filter(|other| source != Some(*other)) {
            if let Some(stream) = self.streams.get_mut(&other) {
                stream.members.remove(&id);
            }
            self.publish(now, other);
        }
    }

    /// Whether the kernel sends a replica.
    pub(super) fn sends(&self, id: ReplicaId) -> bool {
        matches!(self.replicas.get(&id), Some(table) if matches!(table.location, Location::Kernel { .. }))
    }

    pub(super) fn replica_of(&self, state: u32) -> Option<ReplicaId> {
        let is_there =
            |location: &Location| matches!(location, Location::Kernel { state: other, .. } if *other == state);
        self.replicas
            .iter()
            .find(|(_, table)| is_there(&table.location))
            .map(|(id, _)| *id)
    }

    pub(super) fn stream_of(&self, state: u32) -> Option<StreamKey> {
        self.by_state.get(&state).copied()
    }

    pub(super) fn replica(&self, id: ReplicaId) -> Option<(&Replica, ReplicaCell)> {
        let (entry, cell, _) = self.sent_replica(id)?;
        Some((entry, cell))
    }

    /// A replica that is sent from here, what it did, and where that is kept.
    pub(super) fn sent_replica(&self, id: ReplicaId) -> Option<(&Replica, ReplicaCell, u32)> {
        let table = self.replicas.get(&id)?;
        let Location::Kernel { state, .. } = table.location else {
            return None;
        };
        Some((&table.entry, self.kernel.replica_states.get(&state, 0).ok()?, state))
    }

    /// The counts of a replica from before it left for the base.
    pub(super) fn sent_before(&self, id: ReplicaId) -> Option<ReplicaStatistics> {
        Some(self.replicas.get(&id)?.sent)
    }

    pub(super) fn stream(&self, key: StreamKey) -> Option<StreamCell> {
        let state = self.streams.get(&key)?.state?;
        self.kernel.stream_states.get(&state, 0).ok()
    }

    pub(super) fn leg(&self, id: LegId) -> Option<&Leg> {
        self.legs.get(&id)
    }

    /// Replicas that a leg's entry has to do with.
    fn concerned(&self, id: LegId) -> impl Iterator<Item = ReplicaId> {
        let comes_from = move |table: &ReplicaRow| table.entry.source.is_some_and(|key| key.leg == id);
        let concerned = self
            .replicas
            .iter()
            .filter(move |(_, table)| table.entry.leg == id || comes_from(table));
        concerned.map(|(id, _)| *id).collect::<Vec<_>>().into_iter()
    }

    fn fits(&self, key: StreamKey) -> Result<(), Refused> {
        let companion = Refused::Unsupported(Reason::Companion);
        let stream = self.streams.get(&key).ok_or(companion)?;
        let from = self.legs.get(&key.leg).ok_or(companion)?;
        fit::stream(&stream.entry, from).map_err(Refused::Unsupported)?;
        self.pairs.is_listed(key.leg).then_some(()).ok_or(Refused::Full)
    }

    /// The stream that a replica follows, by its state.
    fn followed(&self, state: u32) -> Option<StreamKey> {
        let progress = self.kernel.replica_states.get(&state, 0).ok()?.progress;
        self.stream_of(progress.source.checked_sub(1)?)
    }

    /// Has more sent to a leg, if its packets are counted here.
    pub(super) fn probe(&mut self, id: LegId, probe: Probe) -> bool {
        let place = self.counts.place(id);
        place.is_some_and(|place| set(&mut self.kernel.probes, place, probe))
    }

    /// The state with which a replica that left the kernel continues.
    pub(super) fn snapshot(&self, id: ReplicaId) -> Option<ReplicaSnapshot> {
        self.left.get(&id).copied()
    }
}

fn book_source(replicas: &BTreeMap<ReplicaId, ReplicaRow>, id: ReplicaId) -> Option<StreamKey> {
    replicas.get(&id)?.entry.source
}
