//! Actions of administrators, and what a token may do: the answers of `/api/audit` and
//! `/api/bearer`.

use serde::{Deserialize, Serialize};

/// The bearer of a token, as far as operators' views and actions are concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Bearer {
    /// The token's identity; may be empty.
    pub identity: String,
    /// The API key that signed the token.
    pub api_key: String,
    /// The room that the token gives access to; `null` for all rooms of the key.
    pub room: Option<String>,
    /// Whether it may close rooms.
    pub may_close: bool,
    /// Whether it may remove participants and mute their tracks.
    pub may_moderate: bool,
}

/// The newest actions of administrators, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditLog {
    /// As many as the controller keeps.
    pub entries: Vec<AuditEntry>,
}

/// One action of an administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AuditEntry {
    /// When. Shape: milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The identity in the administrator's token; may be empty.
    pub identity: String,
    /// The API key that signed the token.
    pub api_key: String,
    /// The kind of the action.
    pub action: AuditAction,
    /// The name of the room.
    pub room: String,
    /// The identity of the participant; `null` for an action on the room.
    pub participant: Option<String>,
    /// The id of the track; `null` for an action on a participant or a room.
    pub track: Option<String>,
    /// Why it was not done; `null` if it was.
    pub error: Option<String>,
}

/// The kind of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// A room is closed.
    CloseRoom,
    /// A participant is removed.
    RemoveParticipant,
    /// A track is muted.
    Mute,
    /// A track is unmuted.
    Unmute,
}

impl AuditAction {
    /// Its name in logs and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AuditAction::CloseRoom => "close_room",
            AuditAction::RemoveParticipant => "remove_participant",
            AuditAction::Mute => "mute",
            AuditAction::Unmute => "unmute",
        }
    }
}
