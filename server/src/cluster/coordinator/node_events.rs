//! The events of media nodes, for the cluster or for the rooms.

use std::time::Instant;

use cluster::{Input, NodeEvent, Part};
use controller::Controller;
use southbound::{NodeId, NodeMessage, Notice};
use tracing::{info, warn};

use super::{Coordinator, NodeUpdate};

impl Coordinator {
    /// Takes what happened to a node. Returns what the controller is to be told.
    pub(super) fn node_update(
        &mut self,
        now: Instant,
        node: NodeId,
        update: NodeUpdate,
        rooms: &mut Controller,
        out: &mut Vec<controller::Output>,
    ) -> Option<controller::Input> {
        let event = match update {
            NodeUpdate::Connected(states, _) => NodeEvent::Connected { rooms: states },
            NodeUpdate::Lost => NodeEvent::Lost,
            NodeUpdate::Away => {
                info!(node = node.0, "a media node is gone, its participants join again");
                return Some(controller::Input::NodeLost { node });
            }
            NodeUpdate::Message(NodeMessage::Notice { notice, .. }) => {
                if let Notice::Node(said) = &notice
                    && said.node != node
                {
                    warn!(
                        node = node.0,
                        said = said.node.0,
                        "a media node says that it is another one"
                    );
                    return None;
                }
                if let Notice::Node(said) = notice {
                    rooms.handle(now, livekit::notice_input(node, Notice::Node(said)), out);
                    self.note_standings(now, rooms);
                    return None;
                }
                return Some(livekit::notice_input(node, notice));
            }
            NodeUpdate::Message(message) => node_event(message)?,
        };
        self.input(now, Input::Node { node, event }, rooms, out);
        None
    }
}

/// The message of a node as an event of the cluster; `None` for one that is none.
fn node_event(message: NodeMessage) -> Option<NodeEvent> {
    Some(match message {
        NodeMessage::Rooms { rooms, .. } => NodeEvent::Rooms { rooms },
        NodeMessage::Saved {
            room,
            epoch,
            part: name,
            blob,
        } => {
            let part = Part { name, blob };
            NodeEvent::Saved { room, epoch, part }
        }
        NodeMessage::Claimed { room, epoch, .. } => NodeEvent::Claimed { room, epoch },
        NodeMessage::Refused {
            room,
            epoch,
            why: refusal,
            ..
        } => NodeEvent::Refused { room, epoch, refusal },
        NodeMessage::Hello(_) | NodeMessage::Notice { .. } => return None,
    })
}
