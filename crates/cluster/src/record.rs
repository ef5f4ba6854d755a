//! The records of the store, and the keys they are under.
//!
//! Records are JSON. Fields that a newer version adds are ignored, and each field has a default but
//! for those that make the record what it is.

use serde::{Deserialize, Serialize};
use southbound::{ControllerId, NodeId, Versions};

/// The prefix of the keys of all members, so that one watch tells of controllers and media nodes.
pub const MEMBERS_PREFIX: &str = "members/";

/// The prefix of the keys of media nodes, below [`MEMBERS_PREFIX`].
pub const MEDIA_PREFIX: &str = "members/media/";

const CONTROLLERS_PREFIX: &str = "members/controllers/";
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
    /// The transports that it can have. A client has one or two.
    #[serde(default)]
    pub capacity: u32,
    /// The transports that it has.
    #[serde(default)]
    pub load: u32,
    /// It relays calls of SIP proxies and takes no participants.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub calls_only: bool,
    /// It takes no more participants.
    #[serde(default)]
    pub draining: bool,
    /// The seconds in which its participants leave it while it drains.
    #[serde(default = "usual_move")]
    pub move_within: u32,
    /// The oldest version of the southbound protocol that it speaks.
    pub oldest: u32,
    /// The newest version that it speaks.
    pub newest: u32,
    /// The address at which other relays of SIP calls reach its relay; empty if it has none. Shape:
    /// `host:port`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sip: String,
}

/// For nodes of versions that do not say it.
fn usual_move() -> u32 {
    60
}

impl MediaRecord {
    /// The versions of the southbound protocol that it speaks.
    pub fn versions(&self) -> Versions {
        Versions {
            oldest: self.oldest,
            newest: self.newest,
        }
    }

    /// The transports that it can have, if it says so.
    pub fn known_capacity(&self) -> Option<u32> {
        (self.calls_only || self.capacity > 0).then_some(self.capacity)
    }
}

/// The key of a controller's record.
pub fn controller_key(controller: ControllerId) -> String {
    format!("{CONTROLLERS_PREFIX}{:06x}", controller.number())
}

/// The key of a media node's record.
pub fn media_key(node: NodeId) -> String {
    format!("{MEDIA_PREFIX}{:016x}", node.0)
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
    if let Some(hex) = key.strip_prefix(CONTROLLERS_PREFIX) {
        let number = u32::from_str_radix(hex, 16).ok()?;
        return Some(Member::Controller(ControllerId::new(number)));
    }
    let hex = key.strip_prefix(MEDIA_PREFIX)?;
    Some(Member::Media(NodeId(u64::from_str_radix(hex, 16).ok()?)))
}

/// The media node whose record is under a key.
pub fn media_node(key: &str) -> Option<NodeId> {
    match member_of(key)? {
        Member::Media(node) => Some(node),
        Member::Controller(_) => None,
    }
}

/// A record as bytes.
pub(crate) fn write(record: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(record).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_a_capacity_is_full_only_where_it_relays_calls_alone() {
        let read = |json: &str| serde_json::from_str::<MediaRecord>(json).unwrap();
        let earlier = r#"{"name": "a", "address": "b:1", "oldest": 1, "newest": 2"#;
        assert_eq!(read(&format!("{earlier}}}")).known_capacity(), None);
        assert_eq!(read(&format!("{earlier}, \"capacity\": 7}}")).known_capacity(), Some(7));
        let relay = MediaRecord {
            calls_only: true,
            ..read(&format!("{earlier}}}"))
        };
        let relay = read(&String::from_utf8(write(&relay)).unwrap());
        assert_eq!(relay.known_capacity(), Some(0));
    }

    #[test]
    fn one_prefix_covers_the_keys_of_all_members() {
        let controller = controller_key(ControllerId::new(0xab));
        let media = media_key(NodeId(0xcd));
        assert!(controller.starts_with(MEMBERS_PREFIX) && media.starts_with(MEMBERS_PREFIX));
        assert!(!room_key(MEMBERS_PREFIX).starts_with(MEMBERS_PREFIX));
        assert_eq!(
            member_of(&controller),
            Some(Member::Controller(ControllerId::new(0xab)))
        );
        assert_eq!(member_of(&media), Some(Member::Media(NodeId(0xcd))));
        assert_eq!(
            (media_node(&media), media_node(&controller)),
            (Some(NodeId(0xcd)), None)
        );
        for other in ["members/media/", "members/media/xyz", "media/cd", "rooms/cd", ""] {
            assert_eq!(member_of(other), None, "{other}");
        }
    }
}
