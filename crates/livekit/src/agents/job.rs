//! Jobs: one agent in one room each.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use controller::{AgentRequest, ConnectionId, ParticipantInfo};
use livekit_protocol as proto;
use livekit_protocol::{JobStatus, JobType};

use super::dispatch::Dispatch;
use crate::infos;

/// Workers that may have a job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkerKind {
    /// The name they register under.
    pub(super) name: String,
    /// The deployment they register under.
    pub(super) deployment: String,
    /// The namespace they register in. LiveKit has deprecated them; a room has jobs of its own in
    /// each.
    pub(super) namespace: String,
    /// The type of their jobs.
    pub(super) job_type: JobType,
}

impl WorkerKind {
    /// Whether its workers may have jobs of this type for an agent, in whatever namespace.
    pub(super) fn serves(&self, agent: &AgentRequest, job_type: JobType) -> bool {
        self.job_type == job_type && self.name == agent.name && self.deployment == agent.deployment
    }
}

/// A job.
#[derive(Debug)]
pub(super) struct Job {
    /// The id that workers know it by. A job that is offered again keeps it.
    pub(super) id: String,
    pub(super) room: String,
    /// The dispatch that asked for it.
    pub(super) dispatch: String,
    pub(super) kind: WorkerKind,
    /// The participant that it is about, unless it is about the room.
    pub(super) target: Option<Box<ParticipantInfo>>,
    pub(super) stage: Stage,
    /// Workers that would not have it lately.
    pub(super) declined: BTreeSet<ConnectionId>,
    /// How often its agent was lost.
    pub(super) restarts: u32,
    /// The id of the worker that has or had it.
    pub(super) worker_id: String,
    /// The last error.
    pub(super) error: String,
    /// Times since 1970-01-01 UTC; zero for none.
    pub(super) started: Duration,
    pub(super) updated: Duration,
    pub(super) ended: Duration,
}

/// How far a job has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for a worker. At `until` it is offered to all workers again.
    Waiting { until: Option<Instant> },
    /// A worker is asked whether it takes it.
    Offered { worker: ConnectionId, until: Instant },
    /// A worker has it.
    Assigned(Assignment),
    /// It is over.
    Ended {
        /// Whether its agent has done what it should.
        success: bool,
    },
}

/// A job that a worker has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The worker; `None` while its connection is lost.
    pub(super) worker: Option<ConnectionId>,
    /// The agent's identity.
    pub(super) identity: String,
    /// The id of the agent's stay, while it is in the room.
    pub(super) sid: Option<String>,
    /// The agent counts as lost unless it is in the room by then.
    pub(super) until: Option<Instant>,
}

impl Job {
    pub(super) fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended { .. })
    }

    /// The assignment, if a worker has it.
    pub(super) fn assignment(&self) -> Option<&Assignment> {
        match &self.stage {
            Stage::Assigned(assignment) => Some(assignment),
            _ => None,
        }
    }

    /// The assignment, if a worker has it.
    pub(super) fn assignment_mut(&mut self) -> Option<&mut Assignment> {
        match &mut self.stage {
            Stage::Assigned(assignment) => Some(assignment),
            _ => None,
        }
    }

    /// Whether it is about this participant, by the id of its stay; `None` is the room.
    pub(super) fn is_about(&self, sid: Option<&str>) -> bool {
        self.target.as_ref().map(|target| target.sid.as_str()) == sid
    }

    /// The worker that is asked for it.
    pub(super) fn offered_to(&self) -> Option<ConnectionId> {
        match self.stage {
            Stage::Offered { worker, .. } => Some(worker),
            _ => None,
        }
    }

    /// In the protocol's form.
    #[expect(deprecated, reason = "workers that register in a namespace read it")]
    pub(super) fn told(&self, room: proto::Room, dispatch: &Dispatch) -> proto::Job {
        let participant = self.target.as_ref();
        proto::Job {
            id: self.id.clone(),
            dispatch_id: dispatch.id.clone(),
            r#type: self.kind.job_type.into(),
            room: Some(room),
            participant: participant.map(|target| infos::participant((**target).clone())),
            metadata: dispatch.agent.metadata.clone(),
            namespace: self.kind.namespace.clone(),
            agent_name: dispatch.agent.name.clone(),
            state: Some(self.state()),
            deployment: dispatch.agent.deployment.clone(),
            attributes: dispatch.agent.attributes.clone().into_iter().collect(),
            ..proto::Job::default()
        }
    }

    fn state(&self) -> proto::JobState {
        let status = match &self.stage {
            Stage::Waiting { .. } => JobStatus::JsPending,
            // LiveKit's servers call it that while they offer it, and workers expect it.
            Stage::Offered { .. } | Stage::Assigned(_) => JobStatus::JsRunning,
            Stage::Ended { success: true } => JobStatus::JsSuccess,
            Stage::Ended { success: false } => JobStatus::JsFailed,
        };
        let assignment = self.assignment();
        proto::JobState {
            status: status.into(),
            error: self.error.clone(),
            started_at: self.started.as_nanos() as i64,
            ended_at: self.ended.as_nanos() as i64,
            updated_at: self.updated.as_nanos() as i64,
            participant_identity: assignment.map_or_else(String::new, |assignment| assignment.identity.clone()),
            worker_id: self.worker_id.clone(),
            agent_id: String::new(),
        }
    }
}
