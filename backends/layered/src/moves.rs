//! Replicas that move from the base to the offload.
//!
//! The base is asked to release a replica and answers with its state. Meanwhile the replica may
//! have been paused, or lost its source, and continued from there. Such an answer is outdated.
//!
//! An offload may answer later whether it continues a replica. Neither side sends the replica until
//! then. If it is paused or loses its source meanwhile, it begins anew with a key frame.

use std::collections::BTreeMap;

use dataplane::{LegId, ReplicaId, ReplicaSnapshot, Update};

use crate::voices::Voices;

/// The questions to the base, and those to the offload behind them, that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    asked: BTreeMap<ReplicaId, Asked>,
    pending: BTreeMap<ReplicaId, Pending>,
}

/// The base has let it go, and the offload has not answered.
#[derive(Clone, Copy, Debug)]
struct Pending {
    leg: LegId,
    /// Its state, to go on from if the offload refuses.
    from: Option<ReplicaSnapshot>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    leg: LegId,
    /// The answer will be the replica's current state, since nothing was changed.
    holds: bool,
}

impl Moves {
    /// The base is asked for a replica to this leg; false if an earlier answer is still to come.
    pub(crate) fn ask(&mut self, id: ReplicaId, leg: LegId) -> bool {
        let is_new = !self.asked.contains_key(&id) && !self.pending.contains_key(&id);
        if is_new {
            self.asked.insert(id, Asked { leg, holds: true });
        }
        is_new
    }

    /// Takes account of a change behind the question.
    pub(crate) fn heed(&mut self, update: &Update, voices: &Voices) {
        match update {
            Update::SetReplica(id, replica) if replica.paused || replica.source.is_none() => self.forget(*id),
            Update::RemoveReplica(_) | Update::RemoveLeg(_) | Update::RemoveStream(_) => {
                self.asked.retain(|id, _| voices.sent_by_base(*id).is_some());
                self.pending.retain(|id, _| voices.replica(*id).is_some());
                let has_source = |id| voices.replica(id).is_some_and(|replica| replica.source.is_some());
                let moving = self.asked.keys().chain(self.pending.keys()).copied();
                let without: Vec<ReplicaId> = moving.filter(|id| !has_source(*id)).collect();
                without.into_iter().for_each(|id| self.forget(id));
            }
            _ => {}
        }
    }

    fn forget(&mut self, id: ReplicaId) {
        if let Some(asked) = self.asked.get_mut(&id) {
            asked.holds = false;
        }
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.from = pending.from.map(|from| ReplicaSnapshot { source: None, ..from });
        }
    }

    /// The answer has come: the leg, and whether it still holds.
    pub(crate) fn answered(&mut self, id: ReplicaId) -> Option<(LegId, bool)> {
        self.asked.remove(&id).map(|asked| (asked.leg, asked.holds))
    }

    /// The offload has been asked to go on from there, and answers later.
    pub(crate) fn begin(&mut self, id: ReplicaId, leg: LegId, from: Option<ReplicaSnapshot>) {
        self.pending.insert(id, Pending { leg, from });
    }

    /// Whether the offload is yet to answer.
    pub(crate) fn is_pending(&self, id: ReplicaId) -> bool {
        self.pending.contains_key(&id)
    }

    /// The offload has answered: the state of the replica, unless that is gone.
    pub(crate) fn ended(&mut self, id: ReplicaId) -> Option<Option<ReplicaSnapshot>> {
        self.pending.remove(&id).map(|pending| pending.from)
    }

    /// Whether another replica to a leg is asked for.
    pub(crate) fn has(&self, leg: LegId) -> bool {
        self.asked.values().any(|asked| asked.leg == leg) || self.pending.values().any(|pending| pending.leg == leg)
    }
}
