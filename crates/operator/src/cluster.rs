//! A cluster as one of its controllers knows it: the answer of `/api/cluster`, which `weir inspect
//! --cluster` shows as tables.
//!
//! Ids are hexadecimal, as in the keys of the store. Times are in whole seconds.

mod text;

use serde::{Deserialize, Serialize};

/// A cluster as one of its controllers knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The controller that answers.
    pub controller: Controller,
    /// Whether the store has confirmed the lease of this controller. Without it no room is claimed.
    pub has_lease: bool,
    /// Whether the store has told of all members.
    pub knows_members: bool,
    /// The other controllers that run, by id.
    pub controllers: Vec<Controller>,
    /// The media nodes, by name.
    pub nodes: Vec<MediaNode>,
    /// Rooms that this controller owns.
    pub rooms_owned: usize,
    /// Rooms that it claims and does not own yet.
    pub rooms_claiming: usize,
    /// Rooms of any controller, by name.
    pub rooms: Vec<Room>,
    /// Whether there are more rooms than the answer holds.
    pub truncated: bool,
    /// Trunks between the media nodes of this controller's rooms, at most as many as rooms.
    pub trunks: Vec<Trunk>,
    /// Rooms that changed their owner, and claims that nodes refused. The last one comes first; a
    /// controller remembers 100.
    pub changes: Vec<Change>,
}

/// A controller that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Controller {
    /// The id that it took when it started.
    pub id: String,
    /// Its name; empty if it has gone.
    pub name: String,
    /// `HOST:PORT` of its listener for other controllers.
    pub address: String,
    /// Whether it takes no more rooms.
    pub draining: bool,
}

/// A media node that a controller knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaNode {
    /// The id that it took when it started.
    pub id: String,
    /// Its name; empty if the store has no record of it any more.
    pub name: String,
    /// `HOST:PORT` of its listener for controllers.
    pub address: String,
    /// The region that it is in; empty if nobody said.
    pub region: String,
    /// The transports that it has.
    pub load: u32,
    /// The transports that it can have; `null` if nobody said.
    pub capacity: Option<u32>,
    /// Whether it takes no more participants.
    pub draining: bool,
    /// Its connection with this controller.
    pub connection: Connection,
    /// The time for which the connection has been so.
    pub for_s: u64,
}

/// The connection of a media node with a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// Messages pass in both directions.
    Connected,
    /// It has not been there yet.
    Connecting,
    /// It was lost, and is tried again.
    Away,
}

/// A room and its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// Its name, as clients say it.
    pub room: String,
    /// The owner; `null` if its media nodes name none.
    pub owner: Option<Member>,
    /// The epoch in which it owns the room.
    pub epoch: u64,
    /// The media nodes that have the room.
    pub nodes: Vec<Member>,
}

/// A trunk between two media nodes of a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trunk {
    /// The room's name, as clients say it.
    pub room: String,
    /// Its ends, in the order of their nodes' ids.
    pub ends: [TrunkEnd; 2],
}

/// One end of a trunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrunkEnd {
    /// The media node that it is at.
    pub node: Member,
    /// `HOST:PORT` that it sends from.
    pub address: String,
    /// Whether packets of the other end arrive.
    pub connected: bool,
    /// The tracks that it sends, each codec of a track by itself.
    pub tracks: usize,
    /// The encodings that it sends of them.
    pub encodings: usize,
    /// Its packets that did not arrive, before repair. Shape: parts of 1,000.
    pub lost_per_mille: u32,
    /// The round-trip time, in milliseconds; `null` until it is known.
    pub round_trip_ms: Option<u64>,
}

/// A controller or a media node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The id that it took when it started.
    pub id: String,
    /// Its name; empty for one that does not run any more.
    pub name: String,
}

/// A controller that had a room before, or has it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The controller; `null` if only its epoch is known.
    pub controller: Option<Member>,
    /// The epoch in which it owned the room.
    pub epoch: u64,
}

/// One thing that happened to the owner of a room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The time since then.
    pub ago_s: u64,
    /// The name of the room.
    pub room: String,
    /// The epoch in which this controller owned or claimed the room.
    pub epoch: u64,
    /// The controller that had the room before, or has it now.
    pub other: Holder,
    /// The kind of the change.
    pub what: ChangeKind,
}

/// A kind of change of a room's owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChangeKind {
    /// This controller took the room over, with its participants.
    Adopted,
    /// This controller took the room over, and its participants join again: there was no snapshot
    /// that could be used.
    BeganAnew,
    /// Another controller has the room now.
    Lost {
        /// How this one learned it.
        reason: LossReason,
    },
    /// A node refused a claim of this controller.
    Refused {
        /// The node that refused it.
        node: Member,
    },
}

/// How a controller learned that a room is another one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossReason {
    /// A media node obeys the other one.
    Fenced,
    /// The store names the other one.
    Record,
}
