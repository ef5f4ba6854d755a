//! Events of rooms, and the dispatches of rooms.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use access::ParticipantKind;
use controller::{AgentRequest, ParticipantInfo, RoomChange, RoomEvent, RoomInfo};
use livekit_protocol as proto;
use livekit_protocol::JobType;

use super::dispatch::{Dispatch, DispatchError, DispatchReply, DispatchRequest};
use super::job::{Job, Stage, WorkerKind};
use super::names::JobKey;
use super::output::{Counter, Output};
use super::parts::{PART, dispatch_part, job_part};
use super::room::{Member, Room};
use super::workers::Workers;
use crate::limits::DISPATCHES_MAX;

/// The types of jobs in the order in which those of a dispatch begin.
const JOB_TYPES: [JobType; 3] = [JobType::JtRoom, JobType::JtParticipant, JobType::JtPublisher];

/// The subject of a new job.
type Target = Option<Box<ParticipantInfo>>;

impl Workers {
    /// Takes an event of a room. A room that starts without agents has a dispatch without a name,
    /// as in LiveKit.
    pub fn room_event(&mut self, now: Instant, event: &RoomEvent, out: &mut Vec<Output>) {
        let name = event.room.name.as_str();
        if let Some(room) = self.rooms.get_mut(name) {
            room.info = event.room.clone();
        }
        match &event.change {
            RoomChange::Started(agents) => self.room_started(now, event.room.clone(), agents.clone(), out),
            RoomChange::Finished => {
                let room = self.rooms.get(name);
                let jobs: Vec<_> = room.into_iter().flat_map(Room::jobs).collect();
                for key in jobs {
                    self.terminate(key, out);
                }
                forget_parts(self, name);
                forget_room(self, name);
            }
            RoomChange::ParticipantJoined(info) if is_agent(info) => self.agent_joined(name, info),
            RoomChange::ParticipantLeft(info) if is_agent(info) => self.agent_left(now, name, info, true, out),
            RoomChange::ParticipantAborted(info) if is_agent(info) => self.agent_left(now, name, info, false, out),
            RoomChange::ParticipantJoined(info) => self.joined(now, name, info, out),
            RoomChange::ParticipantLeft(info) | RoomChange::ParticipantAborted(info) => self.left(name, &info.sid),
            RoomChange::TrackPublished(publisher, _) => self.published(now, name, &publisher.sid, out),
            RoomChange::TrackUnpublished(..) => {}
        }
    }

    fn room_started(&mut self, now: Instant, info: RoomInfo, mut agents: Vec<AgentRequest>, out: &mut Vec<Output>) {
        let name = info.name.clone();
        let room = Room {
            info,
            members: BTreeMap::new(),
            dispatches: Vec::new(),
            pooled: self.storage.account("").hold(),
            agents: BTreeMap::new(),
        };
        self.rooms.insert(name.clone(), room);
        self.jobs.mark(&name, PART.to_owned());
        if agents.is_empty() {
            agents.push(AgentRequest::default());
        }
        for agent in agents {
            if self.dispatch(now, &name, agent, out).is_none() {
                out.push(Output::Count(Counter::StoreFull));
            }
        }
    }

    /// Another controller goes on with a room. Its agents stay in it.
    pub fn room_released(&mut self, name: &str) {
        forget_room(self, name);
        self.jobs.unmark(name);
    }

    /// Somebody joined who is no agent.
    fn joined(&mut self, now: Instant, name: &str, info: &ParticipantInfo, out: &mut Vec<Output>) {
        let Some(room) = self.rooms.get_mut(name).filter(|_| may_be_target(info)) else {
            return;
        };
        let publishes = info.is_publisher || !info.tracks.is_empty();
        let member = Member {
            info: Box::new(info.clone()),
            publishes,
        };
        room.members.insert(info.sid.clone(), member);
        self.begin_jobs_about(now, name, &info.sid, JobType::JtParticipant, out);
        if publishes {
            self.begin_jobs_about(now, name, &info.sid, JobType::JtPublisher, out);
        }
    }

    fn published(&mut self, now: Instant, name: &str, sid: &str, out: &mut Vec<Output>) {
        let room = self.rooms.get_mut(name);
        let member = room.and_then(|room| room.members.get_mut(sid));
        let Some(member) = member.filter(|member| !member.publishes) else {
            return;
        };
        member.publishes = true;
        self.begin_jobs_about(now, name, sid, JobType::JtPublisher, out);
    }

    /// Jobs about a participant that left are not offered any more. An agent that is there decides
    /// by itself when to leave.
    fn left(&mut self, name: &str, sid: &str) {
        let Some(room) = self.rooms.get_mut(name) else {
            return;
        };
        if room.members.remove(sid).is_none() {
            return;
        }
        let jobs = &self.jobs;
        let is_over = |key: &JobKey| {
            let job = jobs.get(*key).filter(|job| job.is_about(Some(sid)));
            job.is_some_and(|job| matches!(job.stage, Stage::Waiting { .. } | Stage::Offered { .. }))
        };
        let mut over = Vec::new();
        for dispatch in &mut room.dispatches {
            over.extend(dispatch.jobs.iter().copied().filter(is_over));
            dispatch.jobs.retain(|key| !is_over(key));
        }
        for key in over {
            self.remove_job(key);
        }
    }

    /// Adds a dispatch to a room, and begins its jobs. Returns its id; `None` where there is no
    /// room of this name or it takes no more.
    fn dispatch(&mut self, now: Instant, name: &str, agent: AgentRequest, out: &mut Vec<Output>) -> Option<String> {
        let created = self.clock.unix(now);
        let room = self.rooms.get_mut(name).filter(|room| room.takes(&agent))?;
        let id = self.names.next("AD_");
        room.dispatches.push(Dispatch {
            id: id.clone(),
            agent,
            created,
            jobs: Vec::new(),
        });
        room.weigh();
        self.jobs.mark(name, dispatch_part(&id));
        for job_type in JOB_TYPES {
            for kind in self.begin_jobs(name, &id, job_type) {
                self.offer_waiting(now, &kind, out);
            }
        }
        Some(id)
    }

    /// All parts of a room that this controller goes on with are there. Jobs begin for which there
    /// were no workers at the controller before, and those that wait are offered.
    pub(super) fn offer_restored(&mut self, now: Instant, name: &str, out: &mut Vec<Output>) {
        let Some(room) = self.rooms.get_mut(name) else {
            return;
        };
        room.agents.clear();
        let dispatches: Vec<_> = room.dispatches.iter().map(|dispatch| dispatch.id.clone()).collect();
        for id in dispatches {
            for job_type in JOB_TYPES {
                self.begin_jobs(name, &id, job_type);
            }
        }
        for kind in waiting_kinds(self, name) {
            self.offer_waiting(now, &kind, out);
        }
    }

    /// Begins the jobs of all dispatches that workers of a kind may have, and that have not begun:
    /// there were no such workers.
    pub(super) fn begin_jobs_of_kind(&mut self, kind: &WorkerKind) {
        let mut wanted = Vec::new();
        for (name, room) in &self.rooms {
            for dispatch in &room.dispatches {
                if kind.serves(&dispatch.agent, kind.job_type) {
                    wanted.push((name.clone(), dispatch.id.clone()));
                }
            }
        }
        for (name, id) in wanted {
            self.begin_jobs_for(&name, &id, kind);
        }
    }

    /// Begins the jobs of one type of a dispatch. Returns the kinds of their workers.
    fn begin_jobs(&mut self, name: &str, dispatch: &str, job_type: JobType) -> BTreeSet<WorkerKind> {
        let room = self.rooms.get(name);
        let Some(dispatch_of_room) = room.and_then(|room| room.dispatch(dispatch)) else {
            return BTreeSet::new();
        };
        let kinds = self.kinds_for(&dispatch_of_room.agent, job_type);
        for kind in &kinds {
            self.begin_jobs_for(name, dispatch, kind);
        }
        kinds
    }

    /// Begins the jobs of a dispatch that workers of a kind may have.
    fn begin_jobs_for(&mut self, name: &str, dispatch: &str, kind: &WorkerKind) {
        let Some(room) = self.rooms.get(name) else {
            return;
        };
        let members = room.members.values();
        let targets: Vec<Target> = match kind.job_type {
            JobType::JtRoom => vec![None],
            JobType::JtParticipant => members.map(|member| Some(member.info.clone())).collect(),
            JobType::JtPublisher => {
                let publishers = members.filter(|member| member.publishes);
                publishers.map(|member| Some(member.info.clone())).collect()
            }
        };
        for target in targets {
            begin_job(self, name, dispatch, kind, target);
        }
    }

    /// Begins the jobs of all dispatches of a room that are about one participant.
    fn begin_jobs_about(&mut self, now: Instant, name: &str, sid: &str, job_type: JobType, out: &mut Vec<Output>) {
        let Some(room) = self.rooms.get(name) else {
            return;
        };
        let Some(target) = room.members.get(sid).map(|member| member.info.clone()) else {
            return;
        };
        let dispatches = room.dispatches.iter().flat_map(|dispatch| {
            let kinds = self.kinds_for(&dispatch.agent, job_type).into_iter();
            kinds.map(|kind| (dispatch.id.clone(), kind))
        });
        let dispatches: Vec<_> = dispatches.collect();
        for (id, kind) in dispatches {
            begin_job(self, name, &id, &kind, Some(target.clone()));
            self.offer_waiting(now, &kind, out);
        }
    }

    /// Does a request of the API.
    ///
    /// Errors: any [`DispatchError`].
    pub fn administer(
        &mut self,
        now: Instant,
        request: DispatchRequest,
        out: &mut Vec<Output>,
    ) -> Result<DispatchReply, DispatchError> {
        match request {
            DispatchRequest::Create { room, agent, .. } => self.create(now, &room, agent, out),
            DispatchRequest::Delete { room, id } => self.delete(now, &room, &id, out),
            DispatchRequest::List { room, id } => {
                let found = self.rooms.get(&room).ok_or(DispatchError::RoomNotFound)?;
                let dispatches = found.dispatches.iter();
                let wanted = dispatches.filter(|dispatch| id.is_empty() || dispatch.id == id);
                let all = wanted.map(|dispatch| self.told_dispatch(&room, dispatch)).collect();
                Ok(DispatchReply::All(all))
            }
        }
    }

    fn create(
        &mut self,
        now: Instant,
        name: &str,
        agent: AgentRequest,
        out: &mut Vec<Output>,
    ) -> Result<DispatchReply, DispatchError> {
        let room = self.rooms.get(name).ok_or(DispatchError::RoomNotFound)?;
        if room.dispatches.len() >= DISPATCHES_MAX {
            return Err(DispatchError::TooManyDispatches);
        }
        let id = self.dispatch(now, name, agent, out).ok_or(DispatchError::StoreFull)?;
        let room = self.rooms.get(name).ok_or(DispatchError::RoomNotFound)?;
        let dispatch = room.dispatch(&id).ok_or(DispatchError::DispatchNotFound)?;
        Ok(DispatchReply::One(Box::new(self.told_dispatch(name, dispatch))))
    }

    /// Ends a dispatch. Agents that have not left a while later are removed.
    fn delete(
        &mut self,
        now: Instant,
        name: &str,
        id: &str,
        out: &mut Vec<Output>,
    ) -> Result<DispatchReply, DispatchError> {
        let room = self.rooms.get(name).ok_or(DispatchError::RoomNotFound)?;
        let dispatch = room.dispatch(id).ok_or(DispatchError::DispatchNotFound)?;
        let mut told = self.told_dispatch(name, dispatch);
        if let Some(state) = &mut told.state {
            state.deleted_at = self.clock.unix(now).as_nanos() as i64;
        }
        let jobs = dispatch.jobs.clone();
        for key in jobs {
            self.dismiss_agent(now, key, out);
            self.remove_job(key);
        }
        if let Some(room) = self.rooms.get_mut(name) {
            room.dispatches.retain(|dispatch| dispatch.id != id);
            room.weigh();
        }
        self.jobs.mark(name, dispatch_part(id));
        Ok(DispatchReply::One(Box::new(told)))
    }

    fn told_dispatch(&self, room: &str, dispatch: &Dispatch) -> proto::AgentDispatch {
        let jobs = dispatch.jobs.iter().filter_map(|key| self.told(*key));
        dispatch.told(room, jobs.collect())
    }
}

fn is_agent(info: &ParticipantInfo) -> bool {
    info.kind == ParticipantKind::Agent
}

/// Whether jobs may be about a participant: agents and recorders, by kind or by grant, have none of
/// their own.
pub(super) fn may_be_target(info: &ParticipantInfo) -> bool {
    let by_grant = info.permission.agent || info.permission.recorder;
    !by_grant && !matches!(info.kind, ParticipantKind::Agent | ParticipantKind::Egress)
}

fn forget_room(workers: &mut Workers, name: &str) {
    let room = workers.rooms.get(name);
    let jobs: Vec<_> = room.into_iter().flat_map(Room::jobs).collect();
    for key in jobs {
        workers.remove_job(key);
    }
    workers.rooms.remove(name);
}

/// Begins a job, unless the dispatch has it.
fn begin_job(workers: &mut Workers, name: &str, dispatch: &str, kind: &WorkerKind, target: Target) {
    let sid = target.as_ref().map(|target| target.sid.as_str());
    let Some(room) = workers.rooms.get_mut(name) else {
        return;
    };
    let Some(dispatch) = room.dispatch_mut(dispatch) else {
        return;
    };
    let jobs = &workers.jobs;
    let mut same = dispatch.jobs.iter().filter_map(|key| jobs.get(*key));
    if same.any(|job| job.kind == *kind && job.is_about(sid)) {
        return;
    }
    let key = workers.jobs.insert(Job {
        id: workers.names.next("AJ_"),
        room: name.to_owned(),
        dispatch: dispatch.id.clone(),
        kind: kind.clone(),
        target,
        stage: Stage::Waiting { until: None },
        declined: BTreeSet::new(),
        restarts: 0,
        worker_id: String::new(),
        error: String::new(),
        started: Duration::ZERO,
        updated: Duration::ZERO,
        ended: Duration::ZERO,
    });
    dispatch.jobs.push(key);
}

/// Has the nodes of a room forget all of its parts.
fn forget_parts(workers: &mut Workers, room: &str) {
    let known = workers.rooms.get(room);
    let dispatches = known.into_iter().flat_map(|room| &room.dispatches);
    let mut parts = vec![PART.to_owned()];
    for dispatch in dispatches {
        parts.push(dispatch_part(&dispatch.id));
        let jobs = dispatch.jobs.iter().filter_map(|key| workers.jobs.get(*key));
        parts.extend(jobs.map(|job| job_part(&dispatch.id, &job.id)));
    }
    for part in parts {
        workers.jobs.mark(room, part);
    }
}

/// The kinds of jobs of a room that wait.
fn waiting_kinds(workers: &Workers, room: &str) -> BTreeSet<WorkerKind> {
    let jobs = workers.rooms.get(room).into_iter().flat_map(Room::jobs);
    let waiting = jobs.filter_map(|key: JobKey| workers.jobs.get(key));
    let waiting = waiting.filter(|job| matches!(job.stage, Stage::Waiting { .. }));
    waiting.map(|job| job.kind.clone()).collect()
}
