//! Take-overs that an offload has not answered yet, and those that it answers too late.

use std::collections::BTreeMap;
use std::time::Instant;

use dataplane::{LegId, ReplicaId, Update, WriteId};

use crate::limits::ANSWER_TIME;

/// The replica of a take-over, and its leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TakeOver {
    pub(crate) replica: ReplicaId,
    pub(crate) leg: LegId,
    since: Instant,
    /// The base has it again, since the answer did not arrive in time.
    pub(crate) is_overdue: bool,
}

/// Every take-over without an answer, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(crate) struct TakeOvers(BTreeMap<WriteId, TakeOver>);

impl TakeOvers {
    /// The offload answers this one later.
    pub(crate) fn begin(&mut self, now: Instant, write: WriteId, replica: ReplicaId, leg: LegId) {
        let take_over = TakeOver {
            replica,
            leg,
            since: now,
            is_overdue: false,
        };
        self.0.insert(write, take_over);
    }

    /// The answer to a take-over has arrived, unless its replica is gone.
    pub(crate) fn answered(&mut self, write: WriteId) -> Option<TakeOver> {
        self.0.remove(&write)
    }

    /// The next one whose answer did not arrive in time. Each is named once.
    pub(crate) fn next_overdue(&mut self, now: Instant) -> Option<TakeOver> {
        let is_over = |since: Instant| now.saturating_duration_since(since) >= ANSWER_TIME;
        let mut waiting = self.0.values_mut().filter(|take_over| !take_over.is_overdue);
        let first = waiting.next().filter(|take_over| is_over(take_over.since))?;
        first.is_overdue = true;
        Some(*first)
    }

    /// Whether the offload is still to answer one of this replica that is overdue.
    pub(crate) fn is_overdue(&self, id: ReplicaId) -> bool {
        let mut all = self.0.values();
        all.any(|take_over| take_over.is_overdue && take_over.replica == id)
    }

    /// Forgets the overdue ones of a replica or leg that is removed: its id may be used again.
    pub(crate) fn forget(&mut self, update: &Update) {
        match update {
            Update::RemoveReplica(id) => self.0.retain(|_, one| !(one.is_overdue && one.replica == *id)),
            Update::RemoveLeg(id) => self.0.retain(|_, one| !(one.is_overdue && one.leg == *id)),
            _ => {}
        }
    }
}
