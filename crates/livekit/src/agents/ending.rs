//! Ends of jobs, and agents that are lost.

use std::time::{Duration, Instant};

use controller::{ConnectionId, EndReason, ParticipantInfo};
use livekit_protocol as proto;
use livekit_protocol::JobStatus;
use livekit_protocol::server_message::Message;

use super::assigning::JOIN_MAX;
use super::job::Stage;
use super::names::JobKey;
use super::output::{Counter, Event, Output};
use super::timers::Timer;
use super::workers::Workers;
use crate::limits::{TEXT_MAX, WORKER_JOBS_MAX};

/// How long an agent that was lost may take to join again, while its worker is connected.
const REJOIN_MAX: Duration = Duration::from_secs(10);

/// How long an agent may take to leave after its job was terminated.
const LEAVE_MAX: Duration = Duration::from_secs(3);

/// How often a job whose agent is lost is offered again.
const RESTARTS_MAX: u32 = 20;

/// The longest time between the loss of an agent and the next offer of its job. It begins with a
/// second and doubles with each loss.
const BACKOFF_MAX: Duration = Duration::from_secs(30);

impl Workers {
    /// Ends a job: well, if there is no error.
    pub(super) fn end(&mut self, now: Instant, key: JobKey, error: &str, out: &mut Vec<Output>) {
        self.detach(key);
        let unix = self.clock.unix(now);
        let Some(job) = self.jobs.get_mut(key) else {
            return;
        };
        job.stage = Stage::Ended {
            success: error.is_empty(),
        };
        job.error = error.to_owned();
        (job.updated, job.ended) = (unix, unix);
        job.declined.clear();
        if !error.is_empty() {
            out.push(Output::Count(Counter::Failed));
        }
        out.push(Output::Event(Event::Ended {
            job: job.id.clone(),
            room: job.room.clone(),
            error: job.error.clone(),
        }));
        let (room, dispatch) = (job.room.clone(), job.dispatch.clone());
        let dispatch = self.rooms.get_mut(&room).and_then(|room| room.dispatch_mut(&dispatch));
        if let Some(oldest) = dispatch.and_then(|dispatch| dispatch.take_oldest_ended(|key| self.jobs.is_ended(key))) {
            self.remove_job(oldest);
        }
    }

    /// Forgets a job.
    pub(super) fn remove_job(&mut self, key: JobKey) {
        self.detach(key);
        self.jobs.remove(key);
    }

    /// Takes a job from its worker and out of those that wait.
    fn detach(&mut self, key: JobKey) {
        self.jobs.unqueue(key);
        let Some(job) = self.jobs.get(key) else {
            return;
        };
        let assigned = job.assignment().and_then(|assignment| assignment.worker);
        let worker = job.offered_to().or(assigned);
        if let Some(worker) = worker.and_then(|worker| self.workers.get_mut(&worker)) {
            worker.jobs.remove(&key);
            worker.offers.remove(&key);
        }
    }

    /// Tells the worker of a job to end it.
    pub(super) fn terminate(&self, key: JobKey, out: &mut Vec<Output>) {
        let Some(job) = self.jobs.get(key) else {
            return;
        };
        if let Some(worker) = job.assignment().and_then(|assignment| assignment.worker) {
            self.send_termination(worker, job.id.clone(), out);
        }
    }

    fn send_termination(&self, worker: ConnectionId, job_id: String, out: &mut Vec<Output>) {
        self.send(worker, Message::Termination(proto::JobTermination { job_id }), out);
    }

    /// The agent of a job is lost. The job is offered again, after a while, unless that ends it.
    pub(super) fn fail(&mut self, now: Instant, key: JobKey, error: &str, out: &mut Vec<Output>) {
        self.terminate(key, out);
        if !self.may_restart(key) {
            self.end(now, key, error, out);
            return;
        }
        self.detach(key);
        let unix = self.clock.unix(now);
        let Some(job) = self.jobs.get_mut(key) else {
            return;
        };
        let backoff = Duration::from_secs(1 << job.restarts.min(5)).min(BACKOFF_MAX);
        let until = now + backoff;
        job.restarts += 1;
        job.stage = Stage::Waiting { until: Some(until) };
        job.declined.clear();
        job.error = error.to_owned();
        job.updated = unix;
        out.push(Output::Count(Counter::Restarted));
        out.push(Output::Event(Event::Restarted {
            job: job.id.clone(),
            room: job.room.clone(),
            error: job.error.clone(),
        }));
        self.timers.insert(until, Timer::Job(key));
    }

    /// Whether the job is still wanted, and has not failed too often.
    fn may_restart(&self, key: JobKey) -> bool {
        let Some(job) = self.jobs.get(key) else {
            return false;
        };
        let Some(room) = self.rooms.get(&job.room) else {
            return false;
        };
        let target = job.target.as_ref();
        job.restarts < RESTARTS_MAX
            && room
                .dispatch(&job.dispatch)
                .is_some_and(|dispatch| !dispatch.agent.never_restart)
            && target.is_none_or(|target| room.members.contains_key(&target.sid))
    }

    /// A worker reports on a job.
    pub(super) fn job_status(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        update: proto::UpdateJobStatus,
        out: &mut Vec<Output>,
    ) {
        let key = self.jobs.key_of(&update.job_id);
        if let Some(key) = key {
            // The controller that gave it the job is gone, and the worker does not know.
            self.adopt_one(now, connection, key);
        }
        let key = key.filter(|key| {
            self.workers
                .get(&connection)
                .is_some_and(|worker| worker.jobs.contains(key))
        });
        let Some(key) = key else {
            out.push(Output::Count(Counter::UnknownJob));
            return;
        };
        let mut error = update.error;
        if error.len() > TEXT_MAX {
            error = error.chars().take(TEXT_MAX / 4).collect();
        }
        match JobStatus::try_from(update.status) {
            Ok(JobStatus::JsSuccess) => self.end(now, key, "", out),
            Ok(JobStatus::JsFailed) if error.is_empty() => self.fail(now, key, "the agent failed", out),
            Ok(JobStatus::JsFailed) => self.fail(now, key, &error, out),
            Ok(JobStatus::JsPending | JobStatus::JsRunning) => {
                let unix = self.clock.unix(now);
                if let Some(job) = self.jobs.get_mut(key) {
                    job.updated = unix;
                }
            }
            Err(_) => out.push(Output::Count(Counter::Unsupported)),
        }
    }

    /// A worker that came back reports the jobs whose agents it runs.
    pub(super) fn adopt(&mut self, now: Instant, connection: ConnectionId, ids: Vec<String>, out: &mut Vec<Output>) {
        for id in ids.into_iter().take(WORKER_JOBS_MAX) {
            let Some(key) = self.jobs.key_of(&id) else {
                // An agent of a room that this server does not know of may still be of use.
                out.push(Output::Count(Counter::UnknownJob));
                continue;
            };
            let worker = self.workers.get(&connection);
            let has_job = worker.is_some_and(|worker| worker.jobs.contains(&key));
            if !has_job && !self.adopt_one(now, connection, key) {
                // The job is with another worker, or over.
                self.send_termination(connection, id, out);
            }
        }
    }

    fn adopt_one(&mut self, now: Instant, connection: ConnectionId, key: JobKey) -> bool {
        let (Some(worker), Some(job)) = (self.workers.get_mut(&connection), self.jobs.get_mut(key)) else {
            return false;
        };
        if !worker.is_of(&job.kind) {
            return false;
        }
        let id = worker.id.clone();
        let Some(assignment) = job.assignment_mut().filter(|assignment| assignment.worker.is_none()) else {
            return false;
        };
        assignment.worker = Some(connection);
        let until = now + JOIN_MAX;
        if assignment.sid.is_none() {
            assignment.until = Some(until);
        }
        job.worker_id = id;
        worker.jobs.insert(key);
        self.timers.insert(until, Timer::Job(key));
        true
    }

    /// An agent is in the room.
    pub(super) fn agent_joined(&mut self, room: &str, info: &ParticipantInfo) {
        let room = self.rooms.get(room);
        let Some(key) = room.and_then(|room| self.jobs.of_agent(room, &info.identity)) else {
            return;
        };
        let Some(assignment) = self.jobs.assignment_mut(key) else {
            return;
        };
        assignment.sid = Some(info.sid.clone());
        assignment.until = None;
        let worker = assignment.worker;
        if let Some(worker) = worker.and_then(|worker| self.workers.get_mut(&worker)) {
            worker.strikes = 0;
        }
    }

    /// An agent has left the room, or was lost. Its media may never have connected.
    pub(super) fn agent_left(
        &mut self,
        now: Instant,
        room: &str,
        info: &ParticipantInfo,
        had_joined: bool,
        out: &mut Vec<Output>,
    ) {
        let room = self.rooms.get(room);
        let Some(key) = room.and_then(|room| self.jobs.of_agent(room, &info.identity)) else {
            return;
        };
        let Some(assignment) = self.jobs.assignment_mut(key) else {
            return;
        };
        if assignment.sid.as_ref() != had_joined.then_some(&info.sid) {
            return;
        }
        assignment.sid = None;
        let may_rejoin = assignment.worker.is_some() || info.disconnect_reason == Some(EndReason::DuplicateIdentity);
        match info.disconnect_reason {
            Some(EndReason::ClientInitiated) => {
                self.terminate(key, out);
                self.end(now, key, "", out);
            }
            Some(EndReason::ParticipantRemoved | EndReason::RoomDeleted) => {
                self.terminate(key, out);
                self.end(now, key, "the agent was removed", out);
            }
            _ if may_rejoin => {
                // One that has never joined has a limit from its assignment.
                let until = assignment.until.unwrap_or(now + REJOIN_MAX);
                assignment.until = Some(until);
                self.timers.insert(until, Timer::Job(key));
            }
            _ => self.fail(now, key, "the worker and its agent are lost", out),
        }
    }

    /// Has an agent leave whose job is over.
    pub(super) fn dismiss_agent(&mut self, now: Instant, key: JobKey, out: &mut Vec<Output>) {
        self.terminate(key, out);
        let Some(job) = self.jobs.get(key) else {
            return;
        };
        if let Some(assignment) = job.assignment() {
            let removal = Timer::Removal(job.room.clone(), assignment.identity.clone());
            self.timers.insert(now + LEAVE_MAX, removal);
        }
    }

    /// An agent has to have left, unless another job has its identity by now.
    pub(super) fn removal_due(&self, room: String, identity: String, out: &mut Vec<Output>) {
        let of_room = self.rooms.get(&room);
        if of_room.is_some_and(|room| self.jobs.of_agent(room, &identity).is_none()) {
            out.push(Output::Remove { room, identity });
        }
    }
}
