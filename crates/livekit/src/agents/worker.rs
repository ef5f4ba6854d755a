//! Workers, as they describe themselves.

use std::collections::BTreeSet;

use access::{Claims, RoomNames};
use livekit_protocol as proto;
use livekit_protocol::WorkerStatus;
use slots::SlotId;

use super::job::WorkerKind;
use super::names::JobKey;
use crate::limits::{WORKER_JOBS_MAX, WORKER_OFFERS_MAX};

/// Failures in a row after which a worker is closed: offers without an answer, and agents that do
/// not join.
pub(super) const STRIKES_MAX: u32 = 3;

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    /// The id that it is told.
    pub(super) id: String,
    /// The API key that signs its jobs' tokens: that of its own token.
    pub(super) key: String,
    /// Its slot among workers.
    pub(super) slot: SlotId,
    /// The rooms of that key, where it may have jobs.
    pub(super) rooms: RoomNames,
    /// It speaks JSON.
    pub(super) json: bool,
    /// The content of its registration; `None` before it registers.
    pub(super) registration: Option<Registration>,
    /// It has no place for more.
    full: bool,
    /// It finishes its jobs and takes no more.
    draining: bool,
    /// From 0 to 1, as it says.
    load: f32,
    /// The number of its last status.
    seq: u64,
    pub(super) jobs: BTreeSet<JobKey>,
    pub(super) offers: BTreeSet<JobKey>,
    /// Failures in a row.
    pub(super) strikes: u32,
}

/// The content of a registration.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    pub(super) kind: WorkerKind,
    /// The permission of its agents.
    pub(super) permission: proto::ParticipantPermission,
}

impl Worker {
    pub(super) fn new(id: String, claims: Claims, slot: SlotId) -> Self {
        Self {
            id,
            key: claims.iss,
            rooms: claims.key_rooms,
            slot,
            json: false,
            registration: None,
            full: false,
            draining: false,
            load: 0.0,
            seq: 0,
            jobs: BTreeSet::new(),
            offers: BTreeSet::new(),
            strikes: 0,
        }
    }

    /// Takes its status. Returns whether it may take jobs that it could not take before.
    pub(super) fn update(&mut self, status: proto::UpdateWorkerStatus) -> bool {
        // Numbers are optional. A late report says less than the one before it.
        if status.seq != 0 && status.seq <= self.seq {
            return false;
        }
        self.seq = status.seq;
        let was_open = self.is_open();
        if let Some(said) = status.status {
            self.full = said == i32::from(WorkerStatus::WsFull);
        }
        self.draining = status.draining;
        self.load = match status.load.is_finite() {
            true => status.load.clamp(0.0, 1.0),
            false => 1.0,
        };
        !was_open && self.is_open()
    }

    /// Whether it is registered for jobs of this kind.
    pub(super) fn is_of(&self, kind: &WorkerKind) -> bool {
        let registration = self.registration.as_ref();
        registration.is_some_and(|registration| registration.kind == *kind)
    }

    /// Whether it may be offered jobs.
    pub(super) fn is_open(&self) -> bool {
        self.registration.is_some()
            && !self.full
            && !self.draining
            && self.jobs.len() < WORKER_JOBS_MAX
            && self.offers.len() < WORKER_OFFERS_MAX
    }

    /// Its share of new jobs. The load is its own word, and the jobs are counted here: a worker
    /// that says too little gets at most as much as its jobs leave it.
    pub(super) fn weight(&self) -> f32 {
        const ALWAYS: f32 = 0.05;
        let jobs = self.jobs.len() + self.offers.len();
        let failing = (1 + self.strikes) as f32;
        (1.0 - self.load).max(ALWAYS) / ((1 + jobs) as f32 * failing)
    }
}
