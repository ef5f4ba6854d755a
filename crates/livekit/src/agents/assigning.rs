//! Offers of jobs to workers, and assignments.

use std::time::{Duration, Instant};

use controller::ConnectionId;
use livekit_protocol as proto;
use livekit_protocol::server_message::Message;

use super::job::{Assignment, Stage, WorkerKind};
use super::names::JobKey;
use super::output::{Counter, Event, Output};
use super::timers::Timer;
use super::token;
use super::worker::STRIKES_MAX;
use super::workers::{Workers, frame};
use crate::infos;
use crate::limits::{ATTRIBUTES_MAX, IDENTITY_MAX, METADATA_MAX, NAME_MAX};

/// How long a worker may take to answer an offer.
const OFFER_MAX: Duration = Duration::from_secs(10);

/// How long an agent may take to join after its job was assigned.
pub(super) const JOIN_MAX: Duration = Duration::from_secs(60);

/// How long a job is not offered again to the workers that declined it.
const DECLINED_FOR: Duration = Duration::from_secs(30);

impl Workers {
    /// Offers waiting jobs of a kind, as long as there are workers that may have more.
    pub(super) fn offer_waiting(&mut self, now: Instant, kind: &WorkerKind, out: &mut Vec<Output>) {
        let mut last = None;
        while self
            .workers
            .values()
            .any(|worker| worker.is_of(kind) && worker.is_open())
        {
            let Some(key) = self.jobs.next_waiting(kind, last) else {
                return;
            };
            last = Some(key);
            if let Some(connection) = self.choose(kind, key) {
                self.offer(now, key, connection, out);
            }
        }
    }

    /// The worker with the greatest weight of those that may have a job and have not declined it.
    fn choose(&self, kind: &WorkerKind, key: JobKey) -> Option<ConnectionId> {
        let job = self.jobs.get(key)?;
        let workers = self.workers.iter().filter(|(connection, worker)| {
            let may = worker.is_of(kind) && worker.is_open() && worker.rooms.admits(&job.room);
            may && !job.declined.contains(*connection)
        });
        let best = workers.max_by(|(_, a), (_, b)| a.weight().total_cmp(&b.weight()));
        best.map(|(connection, _)| *connection)
    }

    fn offer(&mut self, now: Instant, key: JobKey, connection: ConnectionId, out: &mut Vec<Output>) {
        self.jobs.unqueue(key);
        let (unix, until) = (self.clock.unix(now), now + OFFER_MAX);
        let (Some(worker), Some(job)) = (self.workers.get_mut(&connection), self.jobs.get_mut(key)) else {
            return;
        };
        worker.offers.insert(key);
        job.stage = Stage::Offered {
            worker: connection,
            until,
        };
        job.worker_id = worker.id.clone();
        (job.started, job.updated) = (unix, unix);
        let resuming = job.restarts > 0;
        self.timers.insert(until, Timer::Job(key));
        let request = proto::AvailabilityRequest {
            job: self.told(key),
            resuming,
        };
        self.send(connection, Message::Availability(request), out);
    }

    /// A job in the protocol's form.
    pub(super) fn told(&self, key: JobKey) -> Option<proto::Job> {
        let job = self.jobs.get(key)?;
        let room = self.rooms.get(&job.room)?;
        let dispatch = room.dispatch(&job.dispatch)?;
        Some(job.told(infos::room(room.info.clone()), dispatch))
    }

    /// A worker answers an offer.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        mut answer: proto::AvailabilityResponse,
        is_taken: &dyn Fn(&str, &str) -> bool,
        out: &mut Vec<Output>,
    ) {
        let Some((key, kind)) = self.jobs.offered(&answer.job_id, connection) else {
            // Late answers are usual: the job may be with another worker, or over.
            out.push(Output::Count(Counter::UnknownJob));
            return;
        };
        if answer.participant_identity.is_empty() {
            answer.participant_identity = format!("agent-{}", answer.job_id);
        }
        if answer.terminate {
            self.end(now, key, "", out);
        } else if !answer.available {
            out.push(Output::Count(Counter::Declined));
            self.decline(now, key, connection);
        } else if self.is_usable(key, &answer, is_taken) {
            self.assign(now, key, connection, answer, out);
        } else {
            out.push(Output::Count(Counter::BadAnswer));
            self.decline(now, key, connection);
        }
        self.offer_waiting(now, &kind, out);
    }

    /// A worker would not have a job, or did not answer.
    pub(super) fn decline(&mut self, now: Instant, key: JobKey, connection: ConnectionId) {
        if let Some(worker) = self.workers.get_mut(&connection) {
            worker.offers.remove(&key);
        }
        self.jobs.queue(key);
        let until = now + DECLINED_FOR;
        if let Some(job) = self.jobs.get_mut(key) {
            job.declined.insert(connection);
            job.stage = Stage::Waiting { until: Some(until) };
        }
        self.timers.insert(until, Timer::Job(key));
    }

    /// Whether an agent may be as its worker describes it. It must not take the identity of
    /// somebody else in the room, who would be disconnected.
    fn is_usable(
        &self,
        key: JobKey,
        answer: &proto::AvailabilityResponse,
        is_taken: &dyn Fn(&str, &str) -> bool,
    ) -> bool {
        let identity = &answer.participant_identity;
        let attributes = answer.participant_attributes.iter();
        let attributes: usize = attributes.map(|(name, value)| name.len() + value.len()).sum();
        let fits = (1..=IDENTITY_MAX).contains(&identity.len())
            && answer.participant_name.len() <= NAME_MAX
            && answer.participant_metadata.len() <= METADATA_MAX
            && attributes <= ATTRIBUTES_MAX;
        let room = self.jobs.get(key).and_then(|job| self.rooms.get(&job.room));
        let is_taken = room.is_none_or(|room| {
            let mut others = room.jobs().filter(|other| *other != key);
            is_taken(&room.info.name, identity)
                || room.has_identity(identity)
                || others.any(|other| self.jobs.is_agent(other, identity))
        });
        fits && !is_taken
    }

    fn assign(
        &mut self,
        now: Instant,
        key: JobKey,
        connection: ConnectionId,
        answer: proto::AvailabilityResponse,
        out: &mut Vec<Output>,
    ) {
        let identity = answer.participant_identity.clone();
        let Some(token) = self.token(now, key, connection, answer) else {
            self.close(now, connection, 1008, Counter::KeyRemoved, out);
            return;
        };
        let until = now + JOIN_MAX;
        let (Some(worker), Some(job)) = (self.workers.get_mut(&connection), self.jobs.get_mut(key)) else {
            return;
        };
        worker.offers.remove(&key);
        worker.jobs.insert(key);
        job.stage = Stage::Assigned(Assignment {
            worker: Some(connection),
            identity,
            sid: None,
            until: Some(until),
        });
        out.push(Output::Event(Event::Assigned {
            job: job.id.clone(),
            room: job.room.clone(),
            worker: worker.id.clone(),
        }));
        self.timers.insert(until, Timer::Job(key));
        out.push(Output::Count(Counter::Assigned));
        let assignment = proto::JobAssignment {
            job: self.told(key),
            url: None,
            token,
        };
        let room = self.jobs.get(key).map(|job| job.room.clone()).unwrap_or_default();
        if let Some(frame) = frame(self, connection, Message::Assignment(assignment)) {
            out.push(Output::SendKept {
                room,
                connection,
                frame,
            });
        }
    }

    fn token(
        &self,
        now: Instant,
        key: JobKey,
        connection: ConnectionId,
        said: proto::AvailabilityResponse,
    ) -> Option<String> {
        let (worker, job) = (self.workers.get(&connection)?, self.jobs.get(key)?);
        let registration = worker.registration.as_ref()?;
        let agent = token::Agent {
            room: &job.room,
            name: &registration.kind.name,
            key: &worker.key,
            permission: &registration.permission,
            said,
        };
        token::sign(agent, &self.keys, self.clock.unix(now))
    }

    /// A job may have waited long enough.
    pub(super) fn job_due(&mut self, now: Instant, key: JobKey, out: &mut Vec<Output>) {
        let Some(job) = self.jobs.get_mut(key) else {
            return;
        };
        let kind = job.kind.clone();
        match &job.stage {
            Stage::Waiting { until: Some(until) } if *until <= now => {
                job.declined.clear();
                self.jobs.queue(key);
            }
            Stage::Offered { worker, until } if *until <= now => {
                let worker = *worker;
                out.push(Output::Count(Counter::Unanswered));
                self.decline(now, key, worker);
                self.strike(now, worker, out);
            }
            Stage::Assigned(assignment) if assignment.until.is_some_and(|until| until <= now) => {
                let worker = assignment.worker;
                out.push(Output::Count(Counter::NotJoined));
                self.fail(now, key, "the agent is not in the room", out);
                if let Some(worker) = worker {
                    self.strike(now, worker, out);
                }
            }
            _ => return,
        }
        self.offer_waiting(now, &kind, out);
    }

    /// A worker has failed. One that fails several times in a row is closed: it may come back.
    fn strike(&mut self, now: Instant, connection: ConnectionId, out: &mut Vec<Output>) {
        let Some(worker) = self.workers.get_mut(&connection) else {
            return;
        };
        worker.strikes += 1;
        if worker.strikes >= STRIKES_MAX {
            self.close(now, connection, 1008, Counter::Unresponsive, out);
        }
    }
}
