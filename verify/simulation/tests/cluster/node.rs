//! A media node: its fence, and a record of whom it has obeyed.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::fence::{Fence, Output};
use cluster::{NodeEvent, Part};
use southbound::{ControllerId, Epoch, NodeMessage, Refusal, RoomContent, RoomMessage, RoomState, Versions};

use crate::process::Snapshot;
use crate::world::Fault;

/// A media node with its fence.
#[derive(Default)]
pub(crate) struct Node {
    fence: Fence,
    fault: Option<Fault>,
    /// Whom it obeyed, by room and epoch.
    obeyed: BTreeMap<(Arc<str>, Epoch), ControllerId>,
    /// The highest epoch that it obeyed, by room.
    highest: BTreeMap<Arc<str>, Epoch>,
    /// The parts that it has taken from owners.
    parts: BTreeMap<Arc<str>, Snapshot>,
}

impl Node {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            ..Self::default()
        }
    }

    pub(crate) fn rooms(&self) -> Vec<RoomState> {
        self.fence.rooms().collect()
    }

    pub(crate) fn connect(&mut self, controller: ControllerId) {
        self.fence
            .connect(controller, Versions::OURS.newest, &mut Output::default());
    }

    pub(crate) fn disconnect(&mut self, controller: ControllerId) {
        self.fence.disconnect(controller, &mut Output::default());
    }

    /// The parts of a room that owners have saved and not dropped.
    pub(crate) fn parts(&self, room: &str) -> Vec<Arc<[u8]>> {
        self.parts
            .get(room)
            .into_iter()
            .flat_map(|parts| parts.values().cloned())
            .collect()
    }

    /// Takes a message, and returns the answers, with the controllers that they are for.
    ///
    /// Errors: the node obeys two owners of an epoch, or an epoch before the last.
    pub(crate) fn take(
        &mut self,
        from: ControllerId,
        message: RoomMessage,
    ) -> Result<Vec<(ControllerId, NodeEvent)>, String> {
        let (room, epoch, content) = (message.room.clone(), message.epoch, message.content.clone());
        let to_fence = match self.fault {
            Some(Fault::NodeIgnoresOwners) => ControllerId::new(0),
            _ => from,
        };
        let mut out = Output::default();
        match self.fence.take(to_fence, message, &mut out) {
            Ok(()) => {}
            Err(Refusal::Outdated(_)) if self.fault == Some(Fault::NodeIgnoresEpochs) => {}
            Err(refusal) => return Ok(vec![(from, NodeEvent::Refused { room, epoch, refusal })]),
        }
        let owner = *self.obeyed.entry((room.clone(), epoch)).or_insert(from);
        if owner != from {
            return Err(format!("a node obeys {owner:?} and {from:?} in {epoch:?} of {room}"));
        }
        let highest = self.highest.entry(room.clone()).or_default();
        if epoch < *highest {
            return Err(format!("a node obeys {epoch:?} of {room} after {highest:?}"));
        }
        *highest = epoch;
        let parts = self.parts.entry(room).or_default();
        match content {
            RoomContent::Save { part, blob } => drop(parts.insert(part, blob)),
            RoomContent::Forget { part } => drop(parts.remove(&part)),
            RoomContent::End => parts.clear(),
            _ => {}
        }
        if self.fault == Some(Fault::ClaimsUnannounced) {
            out.messages
                .retain(|(_, message)| !matches!(message, NodeMessage::Rooms { .. }));
        }
        let told = out
            .messages
            .into_iter()
            .filter_map(|(to, message)| Some((to, event(message)?)));
        Ok(told.collect())
    }
}

fn event(message: NodeMessage) -> Option<NodeEvent> {
    Some(match message {
        NodeMessage::Rooms { rooms, .. } => NodeEvent::Rooms { rooms },
        NodeMessage::Saved {
            room,
            epoch,
            part,
            blob,
        } => {
            let part = Part { name: part, blob };
            NodeEvent::Saved { room, epoch, part }
        }
        NodeMessage::Claimed { room, epoch, .. } => NodeEvent::Claimed { room, epoch },
        NodeMessage::Refused { room, epoch, why, .. } => NodeEvent::Refused {
            room,
            epoch,
            refusal: why,
        },
        _ => return None,
    })
}
