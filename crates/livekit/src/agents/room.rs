//! Rooms, as far as dispatches need them.

use std::collections::BTreeMap;

use controller::{AgentRequest, ParticipantInfo, RoomInfo};
use slots::Held;

use super::dispatch::Dispatch;
use super::names::JobKey;
use crate::limits::DISPATCH_SHARE;

/// One room.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) info: RoomInfo,
    /// Participants that jobs may be about, by the ids of their stays.
    pub(super) members: BTreeMap<String, Member>,
    /// In the order of their creation.
    pub(super) dispatches: Vec<Dispatch>,
    /// Their bytes beyond the room's share.
    pub(super) pooled: Held,
    /// The agents that were there when this controller went on with the room: the ids of their
    /// stays by their identities.
    pub(super) agents: BTreeMap<String, String>,
}

/// A participant that jobs may be about.
#[derive(Debug)]
pub(super) struct Member {
    /// As it joined.
    pub(super) info: Box<ParticipantInfo>,
    /// It publishes, or has since joining.
    pub(super) publishes: bool,
}

impl Room {
    /// Whether there are bytes for a request for an agent.
    pub(super) fn takes(&self, agent: &AgentRequest) -> bool {
        let len = self.dispatches_len() + Dispatch::len_of(agent);
        self.pooled.may_become(len.saturating_sub(DISPATCH_SHARE))
    }

    /// Counts anew what the dispatches take.
    pub(super) fn weigh(&mut self) {
        self.pooled.set(self.dispatches_len().saturating_sub(DISPATCH_SHARE));
    }

    fn dispatches_len(&self) -> usize {
        let dispatches = self.dispatches.iter();
        dispatches.map(|dispatch| Dispatch::len_of(&dispatch.agent)).sum()
    }

    pub(super) fn dispatch(&self, id: &str) -> Option<&Dispatch> {
        self.dispatches.iter().find(|dispatch| dispatch.id == id)
    }

    pub(super) fn dispatch_mut(&mut self, id: &str) -> Option<&mut Dispatch> {
        self.dispatches.iter_mut().find(|dispatch| dispatch.id == id)
    }

    /// The jobs of all dispatches.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobKey> {
        self.dispatches
            .iter()
            .flat_map(|dispatch| dispatch.jobs.iter().copied())
    }

    /// Whether one of the members has this identity.
    pub(super) fn has_identity(&self, identity: &str) -> bool {
        self.members.values().any(|member| member.info.identity == identity)
    }
}
