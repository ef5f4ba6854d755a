//! Dispatches and jobs in the form in which the nodes of a room keep them, so that the next
//! controller of the room goes on with them.
//!
//! A part is the room's, a dispatch's or a job's. An offer is not saved: the job waits again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use access::ParticipantKind;
use controller::{AgentRequest, ParticipantInfo, ParticipantState, RoomInfo};
use livekit_protocol::JobType;
use serde::{Deserialize, Serialize};

use super::dispatch::Dispatch;
use super::job::{Assignment, Job, Stage, WorkerKind};
use super::room::{Member, Room};
use super::rooms::may_be_target;
use super::timers::Timer;
use super::workers::{LOST_GRACE, Workers};
use crate::limits::DISPATCHES_MAX;

/// A part that nodes are to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPart {
    /// The name of the room, as its clients say it.
    pub room: String,
    /// The name of the part.
    pub part: String,
    /// The content; `None` if it is over.
    pub content: Option<Vec<u8>>,
}

#[derive(Serialize, Deserialize)]
struct SavedDispatch {
    name: String,
    metadata: String,
    deployment: String,
    attributes: BTreeMap<String, String>,
    never_restart: bool,
    created: Duration,
}

#[derive(Serialize, Deserialize)]
struct SavedJob {
    namespace: String,
    job_type: i32,
    /// The id of the stay of the participant that it is about.
    target: Option<String>,
    stage: SavedStage,
    restarts: u32,
    worker_id: String,
    error: String,
    started: Duration,
    updated: Duration,
    ended: Duration,
}

#[derive(Serialize, Deserialize)]
enum SavedStage {
    Waiting,
    Assigned { identity: String },
    Ended { success: bool },
}

/// The dispatches and jobs of rooms, for other controllers and from them.
pub struct Takeover<'a>(&'a mut Workers);

impl<'a> Takeover<'a> {
    /// Those of these workers.
    pub fn of(workers: &'a mut Workers) -> Self {
        Self(workers)
    }

    /// Notes from now on what changes, for [`take_unsaved`](Self::take_unsaved).
    pub fn note_unsaved(&mut self) {
        self.0.jobs.note_unsaved();
    }

    /// The parts that have changed since this was last asked for.
    pub fn take_unsaved(&mut self) -> Vec<SavedPart> {
        let unsaved = self.0.jobs.take_unsaved().into_iter();
        let kept = unsaved.map(|(room, part)| {
            let content = self.save(&room, &part);
            SavedPart { room, part, content }
        });
        kept.collect()
    }

    fn save(&self, room: &str, part: &str) -> Option<Vec<u8>> {
        let room = self.0.rooms.get(room)?;
        let mut names = part.split(' ').skip(1);
        match (names.next(), names.next()) {
            (None, _) => Some(b"{}".to_vec()),
            (Some(dispatch), None) => serde_json::to_vec(&save_dispatch(room.dispatch(dispatch)?)).ok(),
            (Some(dispatch), Some(job)) => {
                let job = self.0.jobs.get(self.0.jobs.key_of(job)?)?;
                (job.dispatch == dispatch).then(|| serde_json::to_vec(&save_job(job)).ok())?
            }
        }
    }

    /// Goes on with a room, of which these participants are there, agents as well. Parts of it
    /// follow, each with [`restore`](Self::restore).
    pub fn room_restored(&mut self, now: Instant, info: RoomInfo, participants: Vec<ParticipantInfo>) {
        let name = info.name.clone();
        if self.0.rooms.contains_key(&name) {
            return;
        }
        let joined = participants.into_iter();
        let joined = joined.filter(|participant| participant.state == ParticipantState::Active);
        let (agents, others): (Vec<_>, Vec<_>) = joined.partition(|info| info.kind == ParticipantKind::Agent);
        let targets = others.into_iter().filter(may_be_target).map(|info| {
            let member = Member {
                publishes: info.is_publisher || !info.tracks.is_empty(),
                info: Box::new(info),
            };
            (member.info.sid.clone(), member)
        });
        let room = Room {
            info,
            members: targets.collect(),
            dispatches: Vec::new(),
            pooled: self.0.storage.account("").hold(),
            agents: agents.into_iter().map(|agent| (agent.identity, agent.sid)).collect(),
        };
        self.0.rooms.insert(name.clone(), room);
        // After all parts.
        self.0.timers.insert(now, Timer::Restored(name));
    }

    /// Goes on with a part of a room. Returns whether it is of any use.
    pub fn restore(&mut self, now: Instant, room: &str, part: &str, content: &[u8]) -> bool {
        if !self.0.rooms.contains_key(room) {
            return false;
        }
        let mut names = part.split(' ').skip(1);
        match (names.next(), names.next()) {
            (None, _) => true,
            (Some(dispatch), None) => self.restore_dispatch(room, dispatch, content).is_some(),
            (Some(dispatch), Some(job)) => self.restore_job(now, room, (dispatch, job), content).is_some(),
        }
    }

    fn restore_dispatch(&mut self, room: &str, id: &str, content: &[u8]) -> Option<()> {
        let saved: SavedDispatch = serde_json::from_slice(content).ok()?;
        let room = self.0.rooms.get_mut(room)?;
        let agent = AgentRequest {
            name: saved.name,
            metadata: saved.metadata,
            deployment: saved.deployment,
            attributes: saved.attributes,
            never_restart: saved.never_restart,
        };
        let is_known = room.dispatch(id).is_some();
        if is_known || room.dispatches.len() > DISPATCHES_MAX || !room.takes(&agent) {
            return None;
        }
        room.dispatches.push(Dispatch {
            id: id.to_owned(),
            agent,
            created: saved.created,
            jobs: Vec::new(),
        });
        // Parts come in the order of their names.
        room.dispatches.sort_by_key(|dispatch| dispatch.created);
        room.weigh();
        Some(())
    }

    fn restore_job(&mut self, now: Instant, name: &str, (dispatch, id): (&str, &str), content: &[u8]) -> Option<()> {
        let saved: SavedJob = serde_json::from_slice(content).ok()?;
        let room = self.0.rooms.get_mut(name)?;
        let of_dispatch = room.dispatch(dispatch)?;
        if self.0.jobs.key_of(id).is_some() {
            return None;
        }
        let kind = WorkerKind {
            name: of_dispatch.agent.name.clone(),
            deployment: of_dispatch.agent.deployment.clone(),
            namespace: saved.namespace,
            job_type: JobType::try_from(saved.job_type).ok()?,
        };
        let member = |sid: &String| room.members.get(sid).map(|member| member.info.clone());
        let target = saved.target.as_ref().and_then(member);
        if saved.target.is_some() && target.is_none() && matches!(saved.stage, SavedStage::Waiting) {
            // The participant has left meanwhile.
            return None;
        }
        let (grace, mut is_awaited) = (now + LOST_GRACE, false);
        let stage = match saved.stage {
            SavedStage::Waiting => Stage::Waiting { until: None },
            SavedStage::Ended { success } => Stage::Ended { success },
            SavedStage::Assigned { identity } => {
                let sid = room.agents.get(&identity).cloned();
                is_awaited = sid.is_none();
                Stage::Assigned(Assignment {
                    worker: None,
                    until: is_awaited.then_some(grace),
                    identity,
                    sid,
                })
            }
        };
        let key = self.0.jobs.insert(Job {
            id: id.to_owned(),
            room: name.to_owned(),
            dispatch: dispatch.to_owned(),
            kind,
            target,
            stage,
            declined: BTreeSet::new(),
            restarts: saved.restarts,
            worker_id: saved.worker_id,
            error: saved.error,
            started: saved.started,
            updated: saved.updated,
            ended: saved.ended,
        });
        let room = self.0.rooms.get_mut(name)?;
        room.dispatch_mut(dispatch)?.jobs.push(key);
        if is_awaited {
            self.0.timers.insert(grace, Timer::Job(key));
        }
        Some(())
    }
}

fn save_dispatch(dispatch: &Dispatch) -> SavedDispatch {
    let AgentRequest {
        name,
        metadata,
        deployment,
        attributes,
        never_restart,
    } = dispatch.agent.clone();
    SavedDispatch {
        name,
        metadata,
        deployment,
        attributes,
        never_restart,
        created: dispatch.created,
    }
}

fn save_job(job: &Job) -> SavedJob {
    SavedJob {
        namespace: job.kind.namespace.clone(),
        job_type: job.kind.job_type.into(),
        target: job.target.as_ref().map(|target| target.sid.clone()),
        stage: match &job.stage {
            Stage::Waiting { .. } | Stage::Offered { .. } => SavedStage::Waiting,
            Stage::Assigned(assignment) => SavedStage::Assigned {
                identity: assignment.identity.clone(),
            },
            Stage::Ended { success } => SavedStage::Ended { success: *success },
        },
        restarts: job.restarts,
        worker_id: job.worker_id.clone(),
        error: job.error.clone(),
        started: job.started,
        updated: job.updated,
        ended: job.ended,
    }
}
