//! The place of each entry.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use dataplane::statistics::Kind;
use dataplane::{Family, LegId, Refused, ReplicaId, Sample, Statistics, StreamKey, Update};
use operator::places::{Location, Refusal, Runner};

/// Names an entry of any table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Entry {
    /// A relay.
    Relay(SocketAddr),
    /// A leg.
    Leg(LegId),
    /// A stream.
    Stream(StreamKey),
    /// A replica, and the leg it is sent to.
    Replica(ReplicaId, LegId),
}

/// The place of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// The base.
    #[default]
    Base,
    /// The base, until the offload of this name has answered.
    Pending(&'static str),
    /// The offload of this name.
    Offload(&'static str),
}

/// The place of an entry, and the offloads that refused it, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Placed {
    /// The place.
    pub place: Place,
    /// The name of each offload that was asked and refused, with its reason.
    pub refusals: Vec<(&'static str, Refused)>,
}

/// The places of all entries of a layer: a handle to look at from anywhere.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    entries: BTreeMap<Entry, Placed>,
    refusals: BTreeMap<Refused, u64>,
    /// The offloads that do not answer at present.
    silent: BTreeSet<&'static str>,
}

impl Places {
    /// Every entry and its place, in order.
    pub fn entries(&self) -> Vec<(Entry, Placed)> {
        self.with(|table| {
            table
                .entries
                .iter()
                .map(|(entry, placed)| (*entry, placed.clone()))
                .collect()
        })
    }

    /// How many entries run in an offload.
    pub fn offloaded(&self) -> usize {
        let is_offloaded = |placed: &&Placed| matches!(placed.place, Place::Offload(_));
        self.with(|table| table.entries.values().filter(is_offloaded).count())
    }

    /// How often an entry was refused so far, by reason.
    pub fn refusals(&self) -> Vec<(Refused, u64)> {
        self.with(|table| {
            table
                .refusals
                .iter()
                .map(|(refused, count)| (*refused, *count))
                .collect()
        })
    }

    /// Whether the offload of this name answers. Until it does, its entries run there if it works,
    /// and in the base if their packets arrive there.
    pub(crate) fn answers(&self, name: &'static str, answers: bool) {
        self.with(|table| match answers {
            true => drop(table.silent.remove(name)),
            false => drop(table.silent.insert(name)),
        });
    }

    /// The base has a new value of an entry, and no offload yet.
    pub(crate) fn begin(&self, entry: Entry) {
        self.with(|table| drop(table.entries.insert(entry, Placed::default())));
    }

    /// An offload of this name has refused an entry.
    pub(crate) fn refused(&self, entry: Entry, name: &'static str, refused: Refused) {
        self.with(|table| {
            *table.refusals.entry(refused).or_default() += 1;
            let placed = table.entries.entry(entry).or_default();
            placed.place = Place::Base;
            placed.refusals.push((name, refused));
        });
    }

    /// An entry is there now.
    pub(crate) fn settled(&self, entry: Entry, place: Place) {
        self.with(|table| table.entries.entry(entry).or_default().place = place);
    }

    /// Notes what the only offload of a layer says to an entry.
    pub(crate) fn offered(&self, update: &Update, name: &'static str, answer: Result<(), Refused>) {
        let Some(entry) = Entry::of(update) else {
            return self.remove(update);
        };
        self.begin(entry);
        match answer {
            Ok(()) => self.settled(entry, Place::Offload(name)),
            Err(refused) => self.refused(entry, name, refused),
        }
    }

    /// Forgets what goes with a removal.
    pub(crate) fn remove(&self, update: &Update) {
        self.with(|table| match update {
            Update::RemoveRelay(at) => drop(table.entries.remove(&Entry::Relay(*at))),
            Update::RemoveStream(key) => drop(table.entries.remove(&Entry::Stream(*key))),
            Update::RemoveReplica(id) => table
                .entries
                .retain(|entry, _| !matches!(entry, Entry::Replica(other, _) if other == id)),
            Update::RemoveLeg(id) => table.entries.retain(|entry, _| !entry.is_of(*id)),
            _ => {}
        });
    }

    fn with<T>(&self, what: impl FnOnce(&mut Table) -> T) -> T {
        // A look that panicked changed nothing.
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Statistics for Places {
    fn families(&self) -> Vec<Family> {
        let offloaded = Sample {
            labels: Vec::new(),
            value: self.offloaded() as u64,
        };
        let refusals = self.refusals();
        let refusals = refusals.iter().map(|(refused, count)| (refused.name(), *count));
        vec![
            Family {
                name: "offload_entries",
                kind: Kind::Gauge,
                help: "Entries of the data plane that run in an offload",
                samples: vec![offloaded],
            },
            Family::by_reason(
                "offload_refused",
                "Entries that an offload was offered and refused, by reason",
                refusals,
            ),
        ]
    }

    fn places(&self) -> Vec<operator::Place> {
        let silent = self.with(|table| table.silent.clone());
        let entries = self.entries().into_iter();
        let view = |(entry, placed): (Entry, Placed)| operator::Place::Entry {
            entry: entry.view(),
            location: placed.view(|name| silent.contains(name)),
        };
        entries.map(view).collect()
    }
}

impl Entry {
    /// The entry that an update writes, if it writes one.
    fn of(update: &Update) -> Option<Self> {
        match update {
            Update::SetRelay(at, _) => Some(Entry::Relay(*at)),
            Update::SetLeg(id, _) => Some(Entry::Leg(*id)),
            Update::SetStream(key, _) => Some(Entry::Stream(*key)),
            Update::SetReplica(id, replica) => Some(Entry::Replica(*id, replica.leg)),
            _ => None,
        }
    }

    /// As operators see it.
    fn view(self) -> operator::places::Entry {
        use operator::places::Entry as View;
        match self {
            Entry::Relay(address) => View::Relay { address },
            Entry::Leg(leg) => View::Leg { leg: leg.0 },
            Entry::Stream(key) => View::Stream {
                leg: key.leg.0,
                ssrc: key.ssrc.0,
            },
            Entry::Replica(id, leg) => View::Replica {
                replica: id.0,
                leg: leg.0,
            },
        }
    }

    /// Whether it is this leg, or goes with it.
    fn is_of(&self, id: LegId) -> bool {
        match self {
            Entry::Relay(_) => false,
            Entry::Leg(leg) | Entry::Replica(_, leg) => *leg == id,
            Entry::Stream(key) => key.leg == id,
        }
    }
}

impl Placed {
    /// As operators see it; `is_silent` says which offloads do not answer.
    fn view(&self, is_silent: impl Fn(&str) -> bool) -> Location {
        let runner = match self.place {
            Place::Base => Runner::Base,
            Place::Pending(name) => Runner::Pending { name: name.to_owned() },
            Place::Offload(name) => Runner::Offload {
                name: name.to_owned(),
                is_silent: is_silent(name),
            },
        };
        let refusal = |(offload, refused): &(&str, Refused)| Refusal {
            offload: (*offload).to_owned(),
            reason: refused.name().to_owned(),
        };
        Location {
            runner,
            refusals: self.refusals.iter().map(refusal).collect(),
        }
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view(|_| false).fmt(f)
    }
}
