//! Messages of the connection between a controller and a node on two machines.

use std::fmt;
use std::sync::Arc;

use crate::{ControllerId, Epoch, NodeId, Notice, RoomMessage, RoomState, Versions};

/// A message of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerMessage {
    /// Begins the connection in this direction.
    Hello(ControllerHello),
    /// A message about one of the rooms of the controller.
    Room(RoomMessage),
}

/// The first message of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerHello {
    /// The versions of this protocol that the controller speaks.
    pub versions: Versions,
    /// The id under which it owns rooms.
    pub controller: ControllerId,
}

/// A message of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeMessage {
    /// Begins the connection in this direction.
    Hello(NodeHello),
    /// Some of the rooms that the node has. The pages follow the hello, before everything else.
    /// Later a page has a room that another controller has claimed or ended, so that any controller
    /// knows the nodes of a room whose owner is gone.
    Rooms {
        /// The rooms of this page.
        rooms: Vec<RoomState>,
        /// Whether this is the last page of the hello.
        is_last: bool,
    },
    /// One thing that happened on the node.
    Notice {
        /// The room that it is about; `None` if it is about the node.
        room: Option<Arc<str>>,
        /// The notice as the agent gave it.
        notice: Notice,
    },
    /// A part of a room's snapshot that the node has kept, in answer to a claim.
    Saved {
        /// The name of the room that was claimed.
        room: Arc<str>,
        /// The epoch of the claim.
        epoch: Epoch,
        /// The name under which the part was saved.
        part: Arc<str>,
        /// The part as it was saved.
        blob: Arc<[u8]>,
    },
    /// The claim was taken, and the parts that the node has kept were all said. Notices that the
    /// last owner may have missed follow.
    Claimed {
        /// The name of the room that was claimed.
        room: Arc<str>,
        /// The epoch of the claim.
        epoch: Epoch,
        /// The number of the last message of the owner before; 0 for a room that the node did not
        /// have.
        revision: u64,
    },
    /// A message about a room was refused, with nothing changed.
    Refused {
        /// The room of the message.
        room: Arc<str>,
        /// The epoch of the message.
        epoch: Epoch,
        /// The controller's number of the message.
        revision: u64,
        /// The reason of the refusal.
        why: Refusal,
    },
}

/// The first message of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeHello {
    /// The versions of this protocol that the node speaks.
    pub versions: Versions,
    /// The id that the node took when it started.
    pub node: NodeId,
}

/// Why a node refuses a message about a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A controller has claimed the room in this later epoch.
    Outdated(Epoch),
    /// Another controller has claimed the room in the same epoch.
    Taken,
    /// The controller has not claimed the room in this epoch.
    Unclaimed,
    /// The node has as many rooms as it can have.
    Full,
    /// The part, or its name, is longer than a part may be.
    LongPart,
    /// The room has as many parts, or as many bytes of them, as the node keeps of one room.
    FullRoom,
    /// The node has as many bytes of parts as it keeps of all rooms.
    FullNode,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outdated(Epoch(epoch)) => write!(f, "the room has an owner of the later epoch {epoch}"),
            Self::Taken => f.write_str("the room has another owner in this epoch"),
            Self::Unclaimed => f.write_str("the room was not claimed in this epoch"),
            Self::Full => f.write_str("the node has all the rooms it can have"),
            Self::LongPart => f.write_str("the part is longer than a part may be"),
            Self::FullRoom => f.write_str("the room has all the parts it can have"),
            Self::FullNode => f.write_str("the node has all the parts it can have"),
        }
    }
}

impl std::error::Error for Refusal {}
