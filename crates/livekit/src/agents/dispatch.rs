//! Dispatches: requests for agents in a room.

use std::fmt;
use std::time::Duration;

use controller::AgentRequest;
use livekit_protocol as proto;
use livekit_protocol::JobRestartPolicy;
use prost::Message as _;

use super::names::JobKey;
use crate::limits::{ATTRIBUTES_MAX, CID_MAX, DEPLOYMENT_MAX, DISPATCHES_MAX, ENDED_JOBS_MAX, METADATA_MAX};

/// A request for agents in a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    pub(super) id: String,
    pub(super) agent: AgentRequest,
    /// Since 1970-01-01 UTC.
    pub(super) created: Duration,
    /// In the order they began.
    pub(super) jobs: Vec<JobKey>,
}

/// A request of `AgentDispatchService`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DispatchRequest {
    /// Dispatches an agent to a room.
    Create {
        /// The API key that the room counts for if the request creates it.
        api_key: String,
        /// The room's name.
        room: String,
        /// The agent.
        agent: AgentRequest,
    },
    /// Ends a dispatch and its jobs.
    Delete {
        /// The room's name.
        room: String,
        /// The dispatch.
        id: String,
    },
    /// Lists the dispatches of a room.
    List {
        /// The room's name.
        room: String,
        /// Only this dispatch; empty for all.
        id: String,
    },
}

/// The answer to a request that was done.
#[derive(Clone, Debug, PartialEq)]
pub enum DispatchReply {
    /// The dispatch that was created or deleted.
    One(Box<proto::AgentDispatch>),
    /// Dispatches, in the order of their creation.
    All(Vec<proto::AgentDispatch>),
}

impl DispatchReply {
    /// The bytes that the answer takes.
    pub(crate) fn told_len(&self) -> usize {
        match self {
            Self::One(dispatch) => dispatch.encoded_len(),
            Self::All(dispatches) => dispatches.iter().map(proto::AgentDispatch::encoded_len).sum(),
        }
    }
}

/// Why a request was not done. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DispatchError {
    /// There is no room of this name.
    RoomNotFound,
    /// The room has no such dispatch.
    DispatchNotFound,
    /// The room has as many dispatches as it takes.
    TooManyDispatches,
    /// Rooms keep as much of their dispatches as they may.
    StoreFull,
}

impl fmt::Display for DispatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoomNotFound => "requested room does not exist",
            Self::DispatchNotFound => "dispatch ID not found",
            Self::TooManyDispatches => "too many dispatches in this room",
            Self::StoreFull => "the server keeps no more for dispatches of this room",
        })
    }
}

impl std::error::Error for DispatchError {}

/// The agents of a list.
///
/// Errors: it exceeds a limit.
pub(crate) fn agent_requests(said: Vec<proto::RoomAgentDispatch>) -> Result<Vec<AgentRequest>, &'static str> {
    if said.len() > DISPATCHES_MAX {
        return Err("too many agents");
    }
    said.into_iter().map(agent_request).collect()
}

/// The request for one agent.
///
/// Errors: it exceeds a limit.
pub(crate) fn agent_request(said: proto::RoomAgentDispatch) -> Result<AgentRequest, &'static str> {
    check_deployment(&said.deployment)?;
    if said.agent_name.len() > CID_MAX {
        return Err("agent name length exceeds limits");
    }
    if said.metadata.len() > METADATA_MAX {
        return Err("metadata size exceeds limits");
    }
    let attributes = said.attributes.iter();
    if attributes.map(|(name, value)| name.len() + value.len()).sum::<usize>() > ATTRIBUTES_MAX {
        return Err("attributes size exceeds limits");
    }
    Ok(AgentRequest {
        name: said.agent_name,
        metadata: said.metadata,
        deployment: said.deployment,
        attributes: said.attributes.into_iter().collect(),
        never_restart: said.restart_policy == i32::from(JobRestartPolicy::JrpNever),
    })
}

/// Whether this can be the name of a deployment, by LiveKit's rules.
///
/// Errors: it cannot.
pub(super) fn check_deployment(name: &str) -> Result<(), &'static str> {
    if name.len() > DEPLOYMENT_MAX {
        return Err("deployment exceeds 64 bytes");
    }
    if name.bytes().any(|byte| byte == b'_') {
        return Err("deployment contains reserved character '_'");
    }
    match name.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        true => Err("deployment contains whitespace or control bytes"),
        false => Ok(()),
    }
}

impl Dispatch {
    /// Takes out the oldest ended job, if there are too many.
    pub(super) fn take_oldest_ended(&mut self, is_ended: impl Fn(JobKey) -> bool) -> Option<JobKey> {
        if self.jobs.iter().filter(|key| is_ended(**key)).count() <= ENDED_JOBS_MAX {
            return None;
        }
        let oldest = self.jobs.iter().position(|key| is_ended(*key))?;
        Some(self.jobs.remove(oldest))
    }

    /// About the bytes that are kept of a request for an agent.
    pub(super) fn len_of(agent: &AgentRequest) -> usize {
        const OVERHEAD: usize = 256;
        let attributes = agent.attributes.iter();
        let attributes = attributes.map(|(name, value)| name.len() + value.len() + OVERHEAD / 4);
        OVERHEAD + agent.name.len() + agent.metadata.len() + agent.deployment.len() + attributes.sum::<usize>()
    }

    /// In the protocol's form, with these jobs.
    pub(super) fn told(&self, room: &str, jobs: Vec<proto::Job>) -> proto::AgentDispatch {
        let policy = match self.agent.never_restart {
            true => JobRestartPolicy::JrpNever,
            false => JobRestartPolicy::JrpOnFailure,
        };
        proto::AgentDispatch {
            id: self.id.clone(),
            agent_name: self.agent.name.clone(),
            room: room.to_owned(),
            metadata: self.agent.metadata.clone(),
            state: Some(proto::AgentDispatchState {
                jobs,
                created_at: self.created.as_nanos() as i64,
                deleted_at: 0,
            }),
            restart_policy: policy.into(),
            deployment: self.agent.deployment.clone(),
            attributes: self.agent.attributes.clone().into_iter().collect(),
        }
    }
}
