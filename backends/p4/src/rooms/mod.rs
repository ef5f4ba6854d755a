//! Rooms on the switch: RTP of a stream is copied to its receivers, with each receiver's numbers.
//!
//! The switch has no connection tracking of its own. It knows streams by their addresses and SSRC
//! (`sender`), copies their packets to a group of legs, and rewrites each copy by the entry of its
//! leg and stream (`replica`). A leg has a replica id (rid), a stream and a group have a number
//! each, and a replica has the index of its registers.
//!
//! A replica goes through these stages. Its entries are written, all but `replica`, without which
//! the switch drops its copies. Then it is a candidate, the base releases it, and `replica` is
//! written. The state in the switch's registers begins with the data of that entry, because
//! P4Runtime cannot write registers: an epoch that is new for the index tells the switch to do so.
//! A replica that leaves the switch continues in the base after all numbers that the switch may
//! have used.
//!
//! The registers of a lost switch are out of reach, so it numbers packets only under a lease. The
//! base continues the replicas once the lease is certainly over.

mod entries;
mod feedback;
mod fit;
mod groups;
mod layers;
mod meetings;
mod numbers;
mod packets;
mod placement;
mod publish;
mod replicas;
mod sent;
mod taking;
mod templates;
#[cfg(test)]
mod tests;
mod trees;
mod updates;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dataplane::{
    Event, Leg, LegId, Refused, Replica, ReplicaId, ReplicaSnapshot, ReplicaStatistics, Stream, StreamKey, WriteId,
    Written,
};

use self::feedback::Feedback;
use self::groups::{Groups, StreamFanout};
use self::layers::CopiedLayers;
use self::meetings::Meetings;
use self::numbers::Numbers;
use self::replicas::Replicas;
use self::sent::{Sent, SentCell};
use self::templates::Templates;
use self::trees::RIDS;
use crate::cells::Cell;
use crate::context::Context;
use crate::core::Sizes;
use crate::entry::{Key, Value};
use crate::slots::Slots;

pub(crate) use self::numbers::Report;

/// A replica that the switch has no room for, or that the base cannot release, is tried again after
/// so long.
const AGAIN: Duration = Duration::from_secs(1);

/// The same for one whose stream is found to be of a kind that the switch cannot send.
const LATER: Duration = Duration::from_secs(30);

/// A stream with dependency descriptors is to show a structure within so long. Otherwise its
/// replicas are candidates without, once: the agent then asks for a key frame.
const STRUCTURE_MAX: Duration = Duration::from_secs(2);

/// A replica is to begin within so long after the switch has it.
const START_MAX: Duration = Duration::from_secs(10);

/// Entries by key.
type Entries = BTreeMap<Key, Value>;

/// All legs, streams and replicas of the base, and those of them that the switch has.
#[derive(Debug)]
pub(crate) struct Rooms {
    legs: BTreeMap<LegId, LegRow>,
    streams: BTreeMap<StreamKey, StreamRow>,
    replicas: Replicas,
    groups: Groups,
    meetings: Meetings,
    feedback: Feedback,
    by_rid: BTreeMap<u16, LegId>,
    by_number: BTreeMap<u32, StreamKey>,
    by_index: BTreeMap<u32, ReplicaId>,
    rids: Slots,
    numbers: Slots<u32>,
    indexes: Slots<u32>,
    /// The replicas that had the indexes that rest.
    by_resting: BTreeMap<u32, ReplicaId>,
    /// The epoch that each index had last.
    epochs: BTreeMap<u32, u8>,
    first_epoch: u8,
    /// Replicas whose entries are on their way.
    preparing: BTreeSet<ReplicaId>,
    /// Replicas for which layers are copied that are above their targets.
    lowering: BTreeSet<ReplicaId>,
    candidates: VecDeque<ReplicaId>,
    written: VecDeque<Written>,
    returned: VecDeque<ReplicaId>,
    events: VecDeque<Event>,
    /// Replicas that left the switch, and the states with which they continue.
    left: BTreeMap<ReplicaId, ReplicaSnapshot>,
}

#[derive(Debug)]
struct LegRow {
    leg: Leg,
    /// Its replica id, while it receives from the switch.
    rid: Option<u16>,
    entries: Entries,
}

#[derive(Debug)]
struct StreamRow {
    stream: Stream,
    /// Its number on the switch, while it has replicas there.
    number: Option<u32>,
    /// The ways of its packets, while it has replicas there.
    fanouts: Option<StreamFanout>,
    /// The groups of legs that it holds.
    held: Vec<u16>,
    /// Whether its upper layers have entries.
    is_layered: bool,
    entries: Entries,
    /// Addresses at which its packets arrive.
    services: BTreeSet<SocketAddr>,
    templates: Templates,
}

#[derive(Debug)]
struct ReplicaRow {
    replica: Replica,
    location: Location,
    /// Not to be tried again before.
    not_before: Option<Instant>,
    /// It waited on the switch for a structure that its stream does not send, so it is a candidate
    /// only after one.
    needs_structure: bool,
    sent: Sent,
}

/// The side that has a replica.
#[derive(Debug)]
enum Location {
    Base(Refused),
    Switch(Box<SwitchReplica>),
}

/// A replica's place on the switch.
#[derive(Debug)]
struct SwitchReplica {
    index: u32,
    entries: Entries,
    stage: Stage,
    since: Instant,
    copied: CopiedLayers,
}

/// How far a replica's move to the switch is.
#[derive(Debug)]
enum Stage {
    /// Its entries are on their way.
    Preparing,
    /// They are there, and the base is to release it.
    Named,
    /// The base has released it, and the last entry is on its way.
    Taking(WriteId, Began),
    /// The switch sends it.
    Sending(Began),
}

/// The beginning of a replica on the switch, and its numbers since.
#[derive(Debug)]
struct Began {
    epoch: u8,
    from: ReplicaSnapshot,
    numbers: Numbers,
}

impl Stage {
    fn began(&self) -> Option<&Began> {
        match self {
            Stage::Preparing | Stage::Named => None,
            Stage::Taking(_, began) | Stage::Sending(began) => Some(began),
        }
    }

    fn began_mut(&mut self) -> Option<&mut Began> {
        match self {
            Stage::Preparing | Stage::Named => None,
            Stage::Taking(_, began) | Stage::Sending(began) => Some(began),
        }
    }
}

impl Rooms {
    /// None, with the sizes of a program. Registers that an earlier process used may hold any
    /// epoch, so the first one is to be drawn by chance.
    pub(crate) fn new(sizes: Sizes, first_epoch: u8) -> Self {
        Rooms {
            legs: BTreeMap::new(),
            streams: BTreeMap::new(),
            replicas: Replicas::default(),
            groups: Groups::default(),
            meetings: Meetings::default(),
            feedback: Feedback::default(),
            by_rid: BTreeMap::new(),
            by_number: BTreeMap::new(),
            by_index: BTreeMap::new(),
            rids: Slots::new(1, RIDS),
            numbers: Slots::new(1, sizes.streams),
            indexes: Slots::new(0, sizes.replicas),
            by_resting: BTreeMap::new(),
            epochs: BTreeMap::new(),
            first_epoch: first_epoch.max(1),
            preparing: BTreeSet::new(),
            lowering: BTreeSet::new(),
            candidates: VecDeque::new(),
            written: VecDeque::new(),
            returned: VecDeque::new(),
            events: VecDeque::new(),
            left: BTreeMap::new(),
        }
    }

    /// Whether the switch sends a replica.
    pub(crate) fn sends(&self, id: ReplicaId) -> bool {
        self.on_switch(id)
            .is_some_and(|on_switch| matches!(on_switch.stage, Stage::Sending(_)))
    }

    /// The state with which a replica that left the switch continues.
    pub(crate) fn snapshot(&self, id: ReplicaId) -> Option<ReplicaSnapshot> {
        self.left.get(&id).copied()
    }

    /// Whether there is something for the base.
    pub(crate) fn has_news(&self) -> bool {
        let (written, returned) = (!self.written.is_empty(), !self.returned.is_empty());
        written || returned || !self.events.is_empty() || !self.candidates.is_empty()
    }

    /// The next outcome of a take-over.
    pub(crate) fn next_written(&mut self) -> Option<Written> {
        self.written.pop_front()
    }

    /// The next replica that the base is to continue.
    pub(crate) fn next_returned(&mut self) -> Option<ReplicaId> {
        self.returned.pop_front()
    }

    /// The next event.
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The source's numbers for some of a replica's, which only the publisher can send again.
    pub(crate) fn nack(&mut self, id: ReplicaId, sequences: &[u16]) {
        let began = self.on_switch(id).and_then(|on_switch| on_switch.stage.began());
        let numbers = began.map_or(Vec::new(), |began| began.numbers.of_source(sequences));
        let source = self.replicas.get(id).and_then(|row| row.replica.source);
        if let Some(stream) = source.filter(|_| !numbers.is_empty()) {
            self.events.push_back(Event::NackUpstream {
                stream,
                sequences: numbers,
            });
        }
    }

    /// The counts of a replica. Its octets include its header extensions.
    pub(crate) fn statistics(&self, context: &Context<'_>, id: ReplicaId) -> Option<ReplicaStatistics> {
        let row = self.replicas.get(id)?;
        let earlier = row.sent.counts(context.cells);
        let here = self.on_switch(id).and_then(|on_switch| {
            let Stage::Sending(began) = &on_switch.stage else {
                return None;
            };
            Some(ReplicaStatistics {
                source: row.replica.source,
                timestamp_offset: began.from.timestamp_offset,
                ..SentCell::of(self.legs.get(&row.replica.leg), on_switch.index).counts(context.cells)
            })
        });
        Some(here.map_or(earlier, |here| here.with_counts_of(&earlier)))
    }

    /// The cells to be read.
    pub(crate) fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        let used = self.by_index.keys().copied();
        used.chain(self.indexes.resting()).map(Cell::Sent)
    }

    /// How many replicas the switch sends.
    pub(crate) fn len(&self) -> usize {
        self.replicas.iter().filter(|(id, _)| self.sends(*id)).count()
    }

    fn on_switch(&self, id: ReplicaId) -> Option<&SwitchReplica> {
        match &self.replicas.get(id)?.location {
            Location::Switch(on_switch) => Some(on_switch),
            Location::Base(_) => None,
        }
    }

    fn on_switch_mut(&mut self, id: ReplicaId) -> Option<&mut SwitchReplica> {
        match &mut self.replicas.get_mut(id)?.location {
            Location::Switch(on_switch) => Some(on_switch),
            Location::Base(_) => None,
        }
    }
}

/// Has the switch have these entries of one thing in place of its earlier ones.
fn replace(context: &mut Context<'_>, entries: &mut Entries, new: Entries) {
    let before = std::mem::replace(entries, new);
    for key in before.keys().filter(|key| !entries.contains_key(*key)) {
        context.writer.unwant(key);
    }
    for (key, value) in entries.iter() {
        context.writer.want(key.clone(), value.clone());
    }
}
