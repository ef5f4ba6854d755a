//! Rooms, as far as dispatches need them.

use std::collections::BTreeMap;

use controller::{ParticipantInfo, RoomInfo};

use super::dispatch::Dispatch;
use super::names::JobKey;

/// One room.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) info: RoomInfo,
    /// Participants that jobs may be about, by the ids of their stays.
    pub(super) members: BTreeMap<String, Member>,
    /// In the order of their creation.
    pub(super) dispatches: Vec<Dispatch>,
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
