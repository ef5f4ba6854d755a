//! Replicas on their way from the base to the offload.
//!
//! The base is asked to let one go and says where it stands; until then it may have been paused, or
//! taken its source away, and gone on from there. Such an answer is of no use to anybody.

use std::collections::BTreeMap;

use dataplane::{LegId, ReplicaId, Update};

use crate::voices::Voices;

/// What the base was asked, and has not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Moves(BTreeMap<ReplicaId, Asked>);

#[derive(Clone, Copy, Debug)]
struct Asked {
    leg: LegId,
    /// What it will say is where the replica stands, since nothing was changed.
    holds: bool,
}

impl Moves {
    /// The base is asked for a replica to this leg; false where an earlier answer is still to come.
    pub(crate) fn ask(&mut self, id: ReplicaId, leg: LegId) -> bool {
        let is_new = !self.0.contains_key(&id);
        if is_new {
            self.0.insert(id, Asked { leg, holds: true });
        }
        is_new
    }

    /// Takes account of a change behind the question.
    pub(crate) fn heed(&mut self, update: &Update, voices: &Voices) {
        match update {
            Update::SetReplica(id, replica) if replica.paused || replica.source.is_none() => self.forget(*id),
            Update::RemoveReplica(_) | Update::RemoveLeg(_) | Update::RemoveStream(_) => {
                self.0.retain(|id, _| voices.sent_by_base(*id).is_some());
                let has_source = |id| voices.sent_by_base(id).is_some_and(|replica| replica.source.is_some());
                let without: Vec<ReplicaId> = self.0.keys().copied().filter(|id| !has_source(*id)).collect();
                without.into_iter().for_each(|id| self.forget(id));
            }
            _ => {}
        }
    }

    fn forget(&mut self, id: ReplicaId) {
        if let Some(asked) = self.0.get_mut(&id) {
            asked.holds = false;
        }
    }

    /// The answer has come: the leg, and whether it still holds.
    pub(crate) fn answered(&mut self, id: ReplicaId) -> Option<(LegId, bool)> {
        self.0.remove(&id).map(|asked| (asked.leg, asked.holds))
    }

    /// Whether another replica to a leg is asked for.
    pub(crate) fn has(&self, leg: LegId) -> bool {
        self.0.values().any(|asked| asked.leg == leg)
    }
}
