//! Replicas that the base keeps silent because the offload sends them.
//!
//! Such a replica is paused in the base and has no source there, so that nothing is counted twice.
//! It is first written with its source, but paused, because the base has to check whether the entry
//! is valid.

use std::collections::BTreeMap;

use dataplane::{Replica, ReplicaId, ReplicaOffload, ReplicaSnapshot, Update};

use crate::copied::Copied;

/// Every replica, and whether the base has it paused for this reason.
#[derive(Debug, Default)]
pub(crate) struct MutedReplicas {
    replicas: BTreeMap<ReplicaId, BaseReplica>,
    /// States for the base of replicas that move to it, before they run there.
    snapshots: Vec<(ReplicaId, ReplicaSnapshot)>,
    copied: Copied,
    /// Updates for the base about copied streams.
    for_base_later: Vec<Update>,
}

#[derive(Debug)]
struct BaseReplica {
    replica: Replica,
    is_muted: bool,
    /// The number the base is to start with, where it is not the first.
    snapshot: Option<u16>,
}

impl MutedReplicas {
    /// The update for the base before the offload is asked. A new replica is silent until one side
    /// is to send it, so that two sides never send it.
    pub(crate) fn for_base(&self, update: &Update) -> Update {
        match update {
            Update::SetReplica(id, replica) => {
                let is_muted = self.replicas.get(id).is_none_or(|entry| entry.is_muted);
                let paused = replica.paused || is_muted;
                Update::SetReplica(
                    *id,
                    Replica {
                        paused,
                        ..replica.clone()
                    },
                )
            }
            _ => update.clone(),
        }
    }

    /// The updates for the base after the offload has answered.
    pub(crate) fn changes(
        &mut self,
        update: &Update,
        offload: &impl ReplicaOffload,
        is_pending: impl Fn(ReplicaId) -> bool,
    ) -> Vec<Update> {
        if let Update::SetReplica(id, replica) = update {
            let known = self.replicas.get(id);
            let entry = BaseReplica {
                replica: replica.clone(),
                is_muted: known.is_none_or(|entry| entry.is_muted),
                snapshot: known.and_then(|entry| entry.snapshot),
            };
            self.replicas.insert(*id, entry);
        }
        let (mut changes, mut sent) = (Vec::new(), Vec::new());
        for (id, entry) in self
            .replicas
            .iter_mut()
            .filter(|(id, entry)| is_concerned(update, **id, &entry.replica))
        {
            let is_muted = offload.sends(*id) || is_pending(*id);
            let was_silent = std::mem::replace(&mut entry.is_muted, is_muted);
            if was_silent && !entry.is_muted {
                let snapshot = offload.snapshot(*id);
                entry.go_on(snapshot);
                self.snapshots.extend(snapshot.map(|from| (*id, from)));
            }
            if entry.is_muted || was_silent {
                changes.push(Update::SetReplica(*id, entry.said()));
            }
            sent.push((*id, offload.sends(*id)));
        }
        for (id, is_sent) in sent {
            self.note(id, is_sent);
        }
        changes
    }

    /// The offload sends a replica from now on, or does not.
    pub(crate) fn note(&mut self, id: ReplicaId, is_sent: bool) {
        let replica = self.replica(id).filter(|replica| is_sent && !replica.paused);
        let source = replica.and_then(|replica| replica.source);
        self.for_base_later.extend(self.copied.set(id, source));
    }

    /// The next update for the base about streams that the offload copies.
    pub(crate) fn next_update(&mut self) -> Option<Update> {
        self.for_base_later.pop()
    }

    /// The states from which replicas continue in the base, given before they run there.
    pub(crate) fn take_snapshots(&mut self) -> Vec<(ReplicaId, ReplicaSnapshot)> {
        std::mem::take(&mut self.snapshots)
    }

    /// A replica, as it should be.
    pub(crate) fn replica(&self, id: ReplicaId) -> Option<&Replica> {
        self.replicas.get(&id).map(|entry| &entry.replica)
    }

    /// The same as an entry.
    pub(crate) fn entry(&self, id: ReplicaId) -> Option<Update> {
        self.replica(id).map(|replica| Update::SetReplica(id, replica.clone()))
    }

    /// Has the base send a replica again. Returns the entry for the base, which is written after
    /// the replica's state.
    pub(crate) fn give_back(&mut self, id: ReplicaId, from: Option<ReplicaSnapshot>) -> Option<Update> {
        let entry = self.replicas.get_mut(&id).filter(|entry| entry.is_muted)?;
        entry.go_on(from);
        let change = Update::SetReplica(id, entry.said());
        self.snapshots.extend(from.map(|from| (id, from)));
        self.note(id, false);
        Some(change)
    }

    /// A replica the base sends, as it should be.
    pub(crate) fn sent_by_base(&self, id: ReplicaId) -> Option<&Replica> {
        self.replicas
            .get(&id)
            .filter(|entry| !entry.is_muted)
            .map(|entry| &entry.replica)
    }

    /// The offload sends a replica from now on: the entry, and what the base is to have of it.
    pub(crate) fn mute(&mut self, id: ReplicaId) -> Option<(Update, Update)> {
        let row = self.replicas.get_mut(&id)?;
        row.is_muted = true;
        let entry = Update::SetReplica(id, row.replica.clone());
        Some((entry, Update::SetReplica(id, row.said())))
    }

    /// Removes the state that belongs to a removed entry.
    pub(crate) fn forget(&mut self, update: &Update) {
        match update {
            Update::RemoveReplica(id) => {
                self.note(*id, false);
                self.replicas.remove(id);
            }
            Update::RemoveLeg(leg) => {
                let sent = self.replicas.iter().filter(|(_, entry)| entry.replica.leg == *leg);
                let sent: Vec<ReplicaId> = sent.map(|(id, _)| *id).collect();
                sent.iter().for_each(|id| self.note(*id, false));
                self.replicas.retain(|_, entry| entry.replica.leg != *leg);
                self.copied.forget_leg(*leg);
                self.forget_sources(|source| source.leg == *leg);
            }
            Update::RemoveStream(key) => {
                self.copied.forget_stream(*key);
                self.forget_sources(|source| source == key);
            }
            _ => {}
        }
    }

    fn forget_sources(&mut self, is_gone: impl Fn(&dataplane::StreamKey) -> bool) {
        for entry in self.replicas.values_mut() {
            entry.replica.source = entry.replica.source.filter(|source| !is_gone(source));
        }
    }
}

impl BaseReplica {
    /// The base sends it from there on.
    fn go_on(&mut self, from: Option<ReplicaSnapshot>) {
        self.is_muted = false;
        self.snapshot = from.map(|from| first_behind(from.next));
    }

    /// The replica as the base is to have it.
    fn said(&self) -> Replica {
        match self.is_muted {
            false => Replica {
                first_sequence: self.snapshot.unwrap_or(self.replica.first_sequence),
                ..self.replica.clone()
            },
            true => Replica {
                paused: true,
                source: None,
                ..self.replica.clone()
            },
        }
    }
}

/// The next number, or where that is too high to start with, the nearest ahead that is not.
fn first_behind(next: u16) -> u16 {
    if next < 1 << 15 { next } else { 0 }
}

/// Whether a change of an entry may change the side that sends a replica.
fn is_concerned(update: &Update, id: ReplicaId, replica: &Replica) -> bool {
    match update {
        Update::SetReplica(other, _) => *other == id,
        Update::SetLeg(leg, _) => replica.leg == *leg || replica.source.is_some_and(|source| source.leg == *leg),
        Update::SetStream(key, _) => replica.source == Some(*key),
        _ => false,
    }
}
