//! Which entry runs where.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use dataplane::{LegId, Refused, ReplicaId, StreamKey, Update};

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

/// Where an entry runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// In the offload.
    Offload,
    /// In the base, for this reason.
    Base(Refused),
}

/// Where every entry of a [`Layered`](crate::Layered) runs: a handle to look at from anywhere.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    entries: BTreeMap<Entry, Place>,
    refusals: BTreeMap<Refused, u64>,
}

impl Places {
    /// Every entry and where it runs, in order.
    pub fn entries(&self) -> Vec<(Entry, Place)> {
        self.with(|table| table.entries.iter().map(|(entry, place)| (*entry, *place)).collect())
    }

    /// How many entries run in the offload.
    pub fn offloaded(&self) -> usize {
        self.with(|table| table.entries.values().filter(|place| **place == Place::Offload).count())
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

    pub(crate) fn has_relay(&self, at: SocketAddr) -> bool {
        self.with(|table| table.entries.contains_key(&Entry::Relay(at)))
    }

    /// Notes what an offload said to an entry.
    pub(crate) fn offered(&self, update: &Update, answer: Result<(), Refused>) {
        self.with(|table| {
            let place = match answer {
                Ok(()) => Place::Offload,
                Err(refused) => Place::Base(refused),
            };
            if table.change(update, place)
                && let Place::Base(refused) = place
            {
                *table.refusals.entry(refused).or_default() += 1;
            }
        });
    }

    fn with<T>(&self, what: impl FnOnce(&mut Table) -> T) -> T {
        // A look that panicked changed nothing.
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Table {
    /// Whether something was put into a table.
    fn change(&mut self, update: &Update, place: Place) -> bool {
        let entry = match update {
            Update::SetRelay(at, _) => Entry::Relay(*at),
            Update::SetLeg(id, _) => Entry::Leg(*id),
            Update::SetStream(key, _) => Entry::Stream(*key),
            Update::SetReplica(id, replica) => Entry::Replica(*id, replica.leg),
            _ => {
                self.remove(update);
                return false;
            }
        };
        self.entries.insert(entry, place);
        true
    }

    fn remove(&mut self, update: &Update) {
        match update {
            Update::RemoveRelay(at) => drop(self.entries.remove(&Entry::Relay(*at))),
            Update::RemoveStream(key) => drop(self.entries.remove(&Entry::Stream(*key))),
            Update::RemoveReplica(id) => self
                .entries
                .retain(|entry, _| !matches!(entry, Entry::Replica(other, _) if other == id)),
            Update::RemoveLeg(id) => self.entries.retain(|entry, _| !entry.is_of(*id)),
            _ => {}
        }
    }
}

impl Entry {
    /// Whether it is this leg, or goes with it.
    fn is_of(&self, id: LegId) -> bool {
        match self {
            Entry::Relay(_) => false,
            Entry::Leg(leg) | Entry::Replica(_, leg) => *leg == id,
            Entry::Stream(key) => key.leg == id,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Relay(at) => write!(f, "relay {at}"),
            Entry::Leg(leg) => write!(f, "leg {}", leg.0),
            Entry::Stream(key) => write!(f, "stream {:#x} of leg {}", key.ssrc.0, key.leg.0),
            Entry::Replica(id, leg) => write!(f, "replica {} to leg {}", id.0, leg.0),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Offload => f.write_str("offload"),
            Place::Base(refused) => write!(f, "base: {refused}"),
        }
    }
}
