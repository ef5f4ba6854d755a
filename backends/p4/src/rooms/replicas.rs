//! The replicas of the base, by id, receiver and source.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{LegId, Refused, Replica, ReplicaId, StreamKey};

use super::sent::Sent;
use super::{Location, ReplicaRow};

/// All replicas. A room of many has an update for each, so none looks through all of them.
#[derive(Debug, Default)]
pub(super) struct Replicas {
    rows: BTreeMap<ReplicaId, ReplicaRow>,
    by_leg: BTreeMap<LegId, BTreeSet<ReplicaId>>,
    by_source: BTreeMap<StreamKey, BTreeSet<ReplicaId>>,
}

impl Replicas {
    pub(super) fn get(&self, id: ReplicaId) -> Option<&ReplicaRow> {
        self.rows.get(&id)
    }

    /// A row, of which all but the entry may be changed.
    pub(super) fn get_mut(&mut self, id: ReplicaId) -> Option<&mut ReplicaRow> {
        self.rows.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ReplicaId, &ReplicaRow)> {
        self.rows.iter().map(|(id, row)| (*id, row))
    }

    /// Those that are sent to a leg.
    pub(super) fn sent_to(&self, leg: LegId) -> Vec<ReplicaId> {
        self.by_leg.get(&leg).into_iter().flatten().copied().collect()
    }

    /// Those that are to follow a stream.
    pub(super) fn following(&self, key: StreamKey) -> Vec<ReplicaId> {
        self.by_source.get(&key).into_iter().flatten().copied().collect()
    }

    /// Adds a replica, or replaces its entry.
    pub(super) fn set(&mut self, id: ReplicaId, replica: Replica) {
        let (leg, source) = (replica.leg, replica.source);
        match self.rows.get_mut(&id) {
            Some(row) => {
                let before = std::mem::replace(&mut row.replica, replica);
                row.not_before = None;
                row.needs_structure &= before.source == source;
                self.forget(id, &before);
            }
            None => {
                let row = ReplicaRow {
                    replica,
                    location: Location::Base(Refused::Pending),
                    not_before: None,
                    needs_structure: false,
                    sent: Sent::default(),
                };
                self.rows.insert(id, row);
            }
        }
        self.by_leg.entry(leg).or_default().insert(id);
        if let Some(source) = source {
            self.by_source.entry(source).or_default().insert(id);
        }
    }

    /// Has a replica follow nothing.
    pub(super) fn lose_source(&mut self, id: ReplicaId) {
        if let Some(row) = self.rows.get(&id) {
            let replica = Replica {
                source: None,
                ..row.replica.clone()
            };
            self.set(id, replica);
        }
    }

    pub(super) fn remove(&mut self, id: ReplicaId) -> Option<Replica> {
        let replica = self.rows.remove(&id)?.replica;
        self.forget(id, &replica);
        Some(replica)
    }

    fn forget(&mut self, id: ReplicaId, replica: &Replica) {
        forget(&mut self.by_leg, replica.leg, id);
        if let Some(source) = replica.source {
            forget(&mut self.by_source, source, id);
        }
    }
}

fn forget<K: Ord>(index: &mut BTreeMap<K, BTreeSet<ReplicaId>>, key: K, id: ReplicaId) {
    if let Some(ids) = index.get_mut(&key) {
        ids.remove(&id);
        if ids.is_empty() {
            index.remove(&key);
        }
    }
}
