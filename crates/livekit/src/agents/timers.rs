//! Timers of workers, jobs and agents.

use std::collections::BTreeSet;
use std::time::Instant;

use controller::ConnectionId;

use super::names::JobKey;

/// The subject of a timer. A timer that fires for nothing does no harm, so none is cancelled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A worker has to be registered.
    Registration(ConnectionId),
    /// A job waits for something.
    Job(JobKey),
    /// All parts of a room that this controller goes on with are there.
    Restored(String),
    /// An agent has to have left: its room and its identity.
    Removal(String, String),
}

/// All timers, by their time.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Instant, Timer)>);

impl Timers {
    pub(super) fn insert(&mut self, at: Instant, timer: Timer) {
        self.0.insert((at, timer));
    }

    /// The time of the first.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes the first, if it is due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        self.first().filter(|at| *at <= now)?;
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
