//! The messages of a connection.

use bytes::Bytes;
use southbound::{ControllerHello, ControllerMessage, Epoch, NodeHello, NodeId, NodeMessage, Refusal};

use crate::fields::{label, read, read_all, required, write_all};
use crate::sync::{controller_id, part, part_name, room_name};
use crate::v1::controller_message::Message as FromController;
use crate::v1::node_message::Message as FromNode;
use crate::{Error, v1};

impl From<ControllerMessage> for v1::ControllerMessage {
    fn from(message: ControllerMessage) -> Self {
        Self {
            message: Some(match message {
                ControllerMessage::Hello(hello) => FromController::Hello(hello.into()),
                ControllerMessage::Room(message) => FromController::Room(message.into()),
            }),
        }
    }
}

impl TryFrom<v1::ControllerMessage> for ControllerMessage {
    type Error = Error;

    fn try_from(message: v1::ControllerMessage) -> Result<Self, Error> {
        Ok(match required("ControllerMessage.message", message.message)? {
            FromController::Hello(hello) => Self::Hello(hello.try_into()?),
            FromController::Room(message) => Self::Room(message.try_into()?),
        })
    }
}

impl From<ControllerHello> for v1::ControllerHello {
    fn from(hello: ControllerHello) -> Self {
        let ControllerHello { versions, controller } = hello;
        Self {
            versions: Some(versions.into()),
            controller: controller.number(),
        }
    }
}

impl TryFrom<v1::ControllerHello> for ControllerHello {
    type Error = Error;

    fn try_from(message: v1::ControllerHello) -> Result<Self, Error> {
        Ok(Self {
            versions: read("ControllerHello.versions", message.versions)?,
            controller: controller_id("ControllerHello.controller", message.controller)?,
        })
    }
}

impl From<NodeMessage> for v1::NodeMessage {
    fn from(message: NodeMessage) -> Self {
        Self {
            message: Some(variant(message)),
        }
    }
}

fn variant(message: NodeMessage) -> FromNode {
    match message {
        NodeMessage::Hello(NodeHello { versions, node }) => FromNode::Hello(v1::NodeHello {
            versions: Some(versions.into()),
            node: node.0,
        }),
        NodeMessage::Rooms { rooms, is_last } => FromNode::Rooms(v1::Rooms {
            rooms: write_all(rooms),
            is_last,
        }),
        NodeMessage::Notice { room, notice } => FromNode::Notice(v1::RoomNotice {
            room: room.as_ref().map(label),
            notice: Some(notice.into()),
        }),
        NodeMessage::Saved {
            room,
            epoch,
            part,
            blob,
        } => FromNode::Saved(v1::Saved {
            room: label(&room),
            epoch: epoch.0,
            part: label(&part),
            blob: Bytes::from_owner(blob),
        }),
        NodeMessage::Claimed { room, epoch, revision } => FromNode::Claimed(v1::Claimed {
            room: label(&room),
            epoch: epoch.0,
            revision,
        }),
        NodeMessage::Refused {
            room,
            epoch,
            revision,
            why,
        } => {
            let (reason, later) = reason(why);
            FromNode::Refused(v1::RoomRefusal {
                room: label(&room),
                epoch: epoch.0,
                revision,
                why: reason.into(),
                later,
            })
        }
    }
}

impl TryFrom<v1::NodeMessage> for NodeMessage {
    type Error = Error;

    fn try_from(message: v1::NodeMessage) -> Result<Self, Error> {
        Ok(match required("NodeMessage.message", message.message)? {
            FromNode::Hello(hello) => Self::Hello(NodeHello {
                versions: read("NodeHello.versions", hello.versions)?,
                node: NodeId(hello.node),
            }),
            FromNode::Rooms(rooms) => Self::Rooms {
                rooms: read_all(rooms.rooms)?,
                is_last: rooms.is_last,
            },
            FromNode::Notice(notice) => Self::Notice {
                room: notice.room.map(|room| room_name("RoomNotice.room", room)).transpose()?,
                notice: read("RoomNotice.notice", notice.notice)?,
            },
            FromNode::Saved(saved) => Self::Saved {
                room: room_name("Saved.room", saved.room)?,
                epoch: Epoch(saved.epoch),
                part: part_name("Saved.part", saved.part)?,
                blob: part("Saved.blob", &saved.blob)?,
            },
            FromNode::Claimed(claimed) => Self::Claimed {
                room: room_name("Claimed.room", claimed.room)?,
                epoch: Epoch(claimed.epoch),
                revision: claimed.revision,
            },
            FromNode::Refused(refused) => Self::Refused {
                why: refusal(refused.why, refused.later)?,
                room: room_name("RoomRefusal.room", refused.room)?,
                epoch: Epoch(refused.epoch),
                revision: refused.revision,
            },
        })
    }
}

/// A reason, and the later epoch where it names one.
fn reason(why: Refusal) -> (v1::RoomRefusalReason, u64) {
    use v1::RoomRefusalReason as Reason;
    match why {
        Refusal::Outdated(Epoch(later)) => (Reason::Outdated, later),
        Refusal::Taken => (Reason::Taken, 0),
        Refusal::Unclaimed => (Reason::Unclaimed, 0),
        Refusal::Full => (Reason::Full, 0),
        Refusal::LongPart => (Reason::LongPart, 0),
        Refusal::FullRoom => (Reason::FullRoom, 0),
        Refusal::FullNode => (Reason::FullNode, 0),
    }
}

fn refusal(value: i32, later: u64) -> Result<Refusal, Error> {
    use v1::RoomRefusalReason as Reason;
    let field = "RoomRefusal.why";
    match Reason::try_from(value) {
        Ok(Reason::Outdated) => Ok(Refusal::Outdated(Epoch(later))),
        Ok(Reason::Taken) => Ok(Refusal::Taken),
        Ok(Reason::Unclaimed) => Ok(Refusal::Unclaimed),
        Ok(Reason::Full) => Ok(Refusal::Full),
        Ok(Reason::LongPart) => Ok(Refusal::LongPart),
        Ok(Reason::FullRoom) => Ok(Refusal::FullRoom),
        Ok(Reason::FullNode) => Ok(Refusal::FullNode),
        Ok(Reason::Unspecified) | Err(_) => Err(Error::UnknownValue { field, value }),
    }
}
