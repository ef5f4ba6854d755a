//! Replicas that move from the base to the offload.
//!
//! The base is asked to release a replica and answers with its state. Meanwhile the replica may
//! have been paused, or lost its source, and continued from there. Such an answer is outdated.
//!
//! A replica that is released at a key frame has a state without its source. If its source has
//! changed meanwhile, the offload cannot tell, so that state is not given to it.
//!
//! An offload may answer later whether it continues a replica. Neither side sends the replica until
//! then. If it is paused or loses its source meanwhile, it begins anew with a key frame.

use std::collections::BTreeMap;

use dataplane::{Candidate, LegId, Replica, ReplicaId, ReplicaSnapshot, StreamKey, Update};

use crate::muted::MutedReplicas;

/// The questions to the base, and those to the offload behind them, that are not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Handovers {
    requests: BTreeMap<ReplicaId, ReleaseRequest>,
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
struct ReleaseRequest {
    leg: LegId,
    source: Option<StreamKey>,
    at_key_frame: bool,
    /// The base continues to have released it, since it was neither paused nor without a source.
    holds: bool,
    /// The state is of the source it is to follow.
    is_of_source: bool,
}

/// The use of a state that the base has answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The offload may continue from it.
    Offload,
    /// The base is to continue from it: the replica's source has changed.
    Base,
    /// None: the base has begun anew by itself.
    None,
}

impl Handovers {
    /// The base is asked for a replica to this leg; false if an earlier answer is still to come.
    pub(crate) fn ask(&mut self, candidate: Candidate, replica: &Replica) -> bool {
        let id = candidate.replica;
        let is_new = !self.requests.contains_key(&id) && !self.pending.contains_key(&id);
        if is_new {
            let requests = ReleaseRequest {
                leg: replica.leg,
                source: replica.source,
                at_key_frame: candidate.at_key_frame,
                holds: true,
                is_of_source: true,
            };
            self.requests.insert(id, requests);
        }
        is_new
    }

    /// Takes account of a change behind the question.
    pub(crate) fn heed(&mut self, update: &Update, muted: &MutedReplicas) {
        match update {
            Update::SetReplica(id, replica) if replica.paused || replica.source.is_none() => self.forget(*id),
            Update::SetReplica(id, replica) => {
                if let Some(requests) = self.requests.get_mut(id) {
                    requests.is_of_source &= !requests.at_key_frame || requests.source == replica.source;
                }
            }
            Update::RemoveReplica(_) | Update::RemoveLeg(_) | Update::RemoveStream(_) => {
                self.requests.retain(|id, _| muted.sent_by_base(*id).is_some());
                self.pending.retain(|id, _| muted.replica(*id).is_some());
                let has_source = |id| muted.replica(id).is_some_and(|replica| replica.source.is_some());
                let moving = self.requests.keys().chain(self.pending.keys()).copied();
                let without: Vec<ReplicaId> = moving.filter(|id| !has_source(*id)).collect();
                without.into_iter().for_each(|id| self.forget(id));
            }
            _ => {}
        }
    }

    fn forget(&mut self, id: ReplicaId) {
        if let Some(requests) = self.requests.get_mut(&id) {
            requests.holds = false;
        }
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.from = pending.from.map(|from| ReplicaSnapshot { source: None, ..from });
        }
    }

    /// The answer has come: the leg, and the use of the state.
    pub(crate) fn answered(&mut self, id: ReplicaId) -> Option<(LegId, Use)> {
        let requests = self.requests.remove(&id)?;
        let usable = match requests.holds {
            true if requests.is_of_source => Use::Offload,
            true => Use::Base,
            false => Use::None,
        };
        Some((requests.leg, usable))
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
        self.requests.values().any(|requests| requests.leg == leg)
            || self.pending.values().any(|pending| pending.leg == leg)
    }
}
