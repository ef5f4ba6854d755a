//! The last owner of a room, and all that the node has of the room.

use std::sync::Arc;

use slots::Account;
use southbound::{ControllerId, Epoch, NodeMessage, Refusal, RoomState, Versions};

use super::belongings::Belongings;
use super::distant::Distant;
use super::endpoints::Endpoints;
use super::linking::Links;
use super::messages::Messages;
use super::missed::Missed;
use super::newcomers::Newcomers;
use super::snapshot::Snapshot;
use super::sources::Sources;
use super::states::States;

/// The last owner of a room.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) owner: ControllerId,
    pub(super) epoch: Epoch,
    pub(super) revision: u64,
    pub(super) claimed: u64,
    pub(super) has_ended: bool,
    pub(super) belongings: Belongings,
    pub(super) states: States,
    pub(super) snapshot: Snapshot,
    pub(super) messages: Messages,
    pub(super) endpoints: Endpoints,
    pub(super) newcomers: Newcomers,
    pub(super) missed: Missed,
    /// The version of the protocol that its owner speaks; 0 if it was not connected.
    pub(super) owner_version: u32,
    pub(super) distant: Distant,
    pub(super) sources: Sources,
}

impl Term {
    pub(super) fn new(owner: ControllerId, account: Account) -> Self {
        Self {
            owner,
            epoch: Epoch(0),
            revision: 0,
            claimed: 0,
            has_ended: false,
            belongings: Belongings::default(),
            states: States::default(),
            snapshot: Snapshot::default(),
            messages: Messages::default(),
            missed: Missed::new(&account),
            newcomers: Newcomers::new(&account),
            endpoints: Endpoints::new(account),
            owner_version: 0,
            distant: Distant::default(),
            sources: Sources::default(),
        }
    }

    /// Whether a controller may own the room in an epoch.
    pub(super) fn check(&self, from: ControllerId, epoch: Epoch) -> Result<(), Refusal> {
        match epoch.cmp(&self.epoch) {
            std::cmp::Ordering::Less => Err(Refusal::Outdated(self.epoch)),
            std::cmp::Ordering::Equal if self.owner != from => Err(Refusal::Taken),
            _ => Ok(()),
        }
    }

    pub(super) fn state(&self, room: &Arc<str>) -> RoomState {
        RoomState {
            room: room.clone(),
            owner: self.owner,
            epoch: self.epoch,
            revision: self.revision,
            has_ended: self.has_ended,
        }
    }

    /// Nothing goes to or comes from other nodes over links any more.
    pub(super) fn end_links(&mut self, links: &mut Links) {
        for node in self.distant.clear() {
            links.outgoing.want(node, false);
        }
        self.sources.clear(&mut links.waiting);
        self.missed.clear();
    }

    pub(super) fn owner_knows_links(&self) -> bool {
        self.owner_version >= Versions::LINKS
    }

    pub(super) fn is_empty(&self) -> bool {
        self.belongings.is_empty() && self.snapshot.is_empty() && self.messages.is_empty()
    }

    /// Tells a new owner what the node has kept.
    pub(super) fn answer_claim(&mut self, room: &Arc<str>, revision: u64, out: &mut Vec<(ControllerId, NodeMessage)>) {
        let epoch = self.epoch;
        let saved = self.snapshot.iter().map(|(part, blob)| NodeMessage::Saved {
            room: room.clone(),
            epoch,
            part,
            blob,
        });
        let claimed = NodeMessage::Claimed {
            room: room.clone(),
            epoch,
            revision,
        };
        let notices = self.states.notices().map(|notice| NodeMessage::Notice {
            room: Some(room.clone()),
            notice,
        });
        // Messages that somebody has missed are older than the rest.
        let missed = self.missed.take_for_owner(room, self.owner_version).into_iter();
        let missed = missed.map(|notice| NodeMessage::Notice {
            room: Some(room.clone()),
            notice,
        });
        let waiting = self.messages.take_waiting().map(|notice| NodeMessage::Notice {
            room: Some(room.clone()),
            notice,
        });
        let messages = saved.chain([claimed]).chain(notices).chain(missed).chain(waiting);
        out.extend(messages.map(|message| (self.owner, message)));
    }
}
