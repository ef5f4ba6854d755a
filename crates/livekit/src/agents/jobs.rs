//! All jobs, and those of them that wait to be offered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use controller::ConnectionId;

use super::job::{Assignment, Job, Stage, WorkerKind};
use super::names::JobKey;
use super::parts::{Unsaved, job_part};
use super::room::Room;

/// All jobs, by their keys and by the ids that workers know.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: BTreeMap<JobKey, Job>,
    by_id: BTreeMap<String, JobKey>,
    /// Jobs to be offered, in the order they began.
    waiting: BTreeMap<WorkerKind, BTreeSet<JobKey>>,
    /// How many jobs there have been.
    begun: u64,
    /// The parts that have changed, if nodes keep any.
    unsaved: Option<Unsaved>,
}

impl Jobs {
    pub(super) fn get(&self, key: JobKey) -> Option<&Job> {
        self.jobs.get(&key)
    }

    /// The job, which changes.
    pub(super) fn get_mut(&mut self, key: JobKey) -> Option<&mut Job> {
        self.mark_job(key);
        self.jobs.get_mut(&key)
    }

    /// The job that workers know by this id.
    pub(super) fn key_of(&self, id: &str) -> Option<JobKey> {
        self.by_id.get(id).copied()
    }

    /// Adds a job. One that waits for a worker is queued.
    pub(super) fn insert(&mut self, job: Job) -> JobKey {
        let key = JobKey(self.begun);
        self.begun += 1;
        self.by_id.insert(job.id.clone(), key);
        let waits = matches!(job.stage, Stage::Waiting { .. });
        self.jobs.insert(key, job);
        if waits {
            self.queue(key);
        }
        key
    }

    /// Notes from now on which parts change.
    pub(super) fn note_unsaved(&mut self) {
        self.unsaved.get_or_insert_default();
    }

    /// The parts that have changed since this was last asked for.
    pub(super) fn take_unsaved(&mut self) -> Unsaved {
        self.unsaved.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A part has changed.
    pub(super) fn mark(&mut self, room: &str, part: String) {
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.insert((room.to_owned(), part));
        }
    }

    /// Nothing of a room is to be saved any more: another controller does.
    pub(super) fn unmark(&mut self, room: &str) {
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.retain(|(of, _)| of != room);
        }
    }

    fn mark_job(&mut self, key: JobKey) {
        if let (Some(unsaved), Some(job)) = (&mut self.unsaved, self.jobs.get(&key)) {
            unsaved.insert((job.room.clone(), job_part(&job.dispatch, &job.id)));
        }
    }

    pub(super) fn remove(&mut self, key: JobKey) {
        self.mark_job(key);
        self.unqueue(key);
        if let Some(job) = self.jobs.remove(&key) {
            self.by_id.remove(&job.id);
        }
    }

    /// Has a job wait for a worker.
    pub(super) fn queue(&mut self, key: JobKey) {
        self.mark_job(key);
        if let Some(job) = self.jobs.get_mut(&key) {
            job.stage = Stage::Waiting { until: None };
            self.waiting.entry(job.kind.clone()).or_default().insert(key);
        }
    }

    /// Takes a job out of those that wait to be offered.
    pub(super) fn unqueue(&mut self, key: JobKey) {
        let Some(kind) = self.jobs.get(&key).map(|job| &job.kind) else {
            return;
        };
        if let Some(keys) = self.waiting.get_mut(kind) {
            keys.remove(&key);
            if keys.is_empty() {
                self.waiting.remove(kind);
            }
        }
    }

    /// The job of a kind that waits next after another; `None` is before the first.
    pub(super) fn next_waiting(&self, kind: &WorkerKind, after: Option<JobKey>) -> Option<JobKey> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.waiting.get(kind)?.range((after, Bound::Unbounded)).next().copied()
    }

    /// The job of this id and its kind, if a worker is asked for it.
    pub(super) fn offered(&self, id: &str, connection: ConnectionId) -> Option<(JobKey, WorkerKind)> {
        let key = self.key_of(id)?;
        let job = self.get(key)?;
        (job.offered_to() == Some(connection)).then(|| (key, job.kind.clone()))
    }

    /// The assignment of a job, if a worker has it.
    pub(super) fn assignment_mut(&mut self, key: JobKey) -> Option<&mut Assignment> {
        self.get_mut(key).and_then(Job::assignment_mut)
    }

    /// Whether the agent of a job has this identity.
    pub(super) fn is_agent(&self, key: JobKey, identity: &str) -> bool {
        let assignment = self.get(key).and_then(Job::assignment);
        assignment.is_some_and(|assignment| assignment.identity == identity)
    }

    /// The job of a room whose agent has this identity.
    pub(super) fn of_agent(&self, room: &Room, identity: &str) -> Option<JobKey> {
        room.jobs().find(|key| self.is_agent(*key, identity))
    }

    /// Whether a job is over. One that is forgotten is.
    pub(super) fn is_ended(&self, key: JobKey) -> bool {
        self.get(key).is_none_or(Job::is_ended)
    }
}
