//! The records of the store, and the keys they are under.
//!
//! Records are JSON. Fields that a newer version adds are ignored, and each field has a default but
//! for those that make the record what it is.

use serde::{Deserialize, Serialize};
use southbound::{ControllerId, NodeId, Versions};

const CONTROLLERS: &str = "controllers/";
const MEDIA: &str = "media/";
const ROOMS: &str = "rooms/";

/// The owner of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomRecord {
    /// The number of the controller's id.
    pub owner: u32,
    /// The epoch in which it owns the room.
    pub epoch: u64,
}

/// A controller that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerRecord {
    /// Its name for people.
    pub name: String,
    /// The address at which other controllers reach it. Shape: `host:port`.
    pub address: String,
    /// It takes no more rooms.
    #[serde(default)]
    pub draining: bool,
}

/// A media node that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MediaRecord {
    /// Its name for people.
    pub name: String,
    /// The address at which controllers reach it. Shape: `host:port`.
    pub address: String,
    /// The region that it is in; empty if nobody said.
    #[serde(default)]
    pub region: String,
    /// The participants that it can have.
    #[serde(default)]
    pub capacity: u32,
    /// The participants that it has.
    #[serde(default)]
    pub load: u32,
    /// It takes no more participants.
    #[serde(default)]
    pub draining: bool,
    /// The oldest version of the southbound protocol that it speaks.
    pub oldest: u32,
    /// The newest version that it speaks.
    pub newest: u32,
}

impl MediaRecord {
    /// The versions of the southbound protocol that it speaks.
    pub fn versions(&self) -> Versions {
        Versions {
            oldest: self.oldest,
            newest: self.newest,
        }
    }
}

/// A media node, as its record says.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// The id that it took when it started.
    pub node: NodeId,
    /// The record that it has written.
    pub record: MediaRecord,
}

/// The key of a controller's record.
pub fn controller_key(controller: ControllerId) -> String {
    format!("{CONTROLLERS}{:06x}", controller.number())
}

/// The key of a media node's record.
pub fn media_key(node: NodeId) -> String {
    format!("{MEDIA}{:016x}", node.0)
}

/// The key of a room's record.
pub fn room_key(room: &str) -> String {
    format!("{ROOMS}{room}")
}

/// The member that a key names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    Controller(ControllerId),
    Media(NodeId),
}

/// The member that a key names; `None` for another key.
pub(crate) fn member_of(key: &str) -> Option<Member> {
    if let Some(hex) = key.strip_prefix(CONTROLLERS) {
        let number = u32::from_str_radix(hex, 16).ok()?;
        return Some(Member::Controller(ControllerId::new(number)));
    }
    let hex = key.strip_prefix(MEDIA)?;
    Some(Member::Media(NodeId(u64::from_str_radix(hex, 16).ok()?)))
}

/// A record as bytes.
pub(crate) fn write(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).unwrap_or_default()
}
