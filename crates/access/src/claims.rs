//! The claims of a token.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{KindDetail, ParticipantKind, RoomNames};

/// The claims of a token. Tokens are read by [`verify`](crate::verify); what can be
/// deserialised are claims of a token that was verified before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Claims {
    /// The API key that signed.
    pub iss: String,
    /// The identity.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub: String,
    /// The identity in old tokens that have no `sub`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jti: String,
    /// When it expires, in seconds since 1970; `None` is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<u64>,
    /// When it becomes valid, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<u64>,
    /// The display name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Metadata of the participant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metadata: String,
    /// Attributes of the participant.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// The kind of participant: the protocol's names in small letters, such as `agent`, `egress` or
    /// `sip`. Empty is `standard`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Details of the kind, by the protocol's names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kind_details: Vec<String>,
    /// The grant for rooms.
    #[serde(skip_serializing_if = "VideoGrant::is_default")]
    pub video: VideoGrant,
    /// The rooms of the API key that signed. No token says so: verification does.
    #[serde(skip)]
    pub key_rooms: RoomNames,
    /// The grant for telephone calls, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sip: Option<SipGrant>,
    /// The grant for agents, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentGrant>,
    /// The grant for models, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inference: Option<InferenceGrant>,
    /// The grant for recorded measurements, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilityGrant>,
    /// How the room is set up if joining creates it, in the JSON form of the protocol's
    /// `RoomConfiguration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_config: Option<serde_json::Map<String, serde_json::Value>>,
    /// The name of a set-up of rooms.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub room_preset: String,
    /// The hash of a request's body, in tokens that a server signs for its notifications.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sha256: String,
}

/// The grant for rooms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VideoGrant {
    /// May join [`room`](Self::room).
    pub room_join: bool,
    /// The room's name.
    pub room: String,
    /// May publish media; `None` is yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_publish: Option<bool>,
    /// May receive media; `None` is yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_subscribe: Option<bool>,
    /// May send data; `None` is as `can_publish`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_publish_data: Option<bool>,
    /// Sources it may publish: `camera`, `microphone`, `screen_share`, `screen_share_audio`,
    /// `unknown`. Empty is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub can_publish_sources: Vec<String>,
    /// May change its own name, metadata and attributes; `None` is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_update_own_metadata: Option<bool>,
    /// Others do not see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// It records the room.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorder: bool,
    /// It is an agent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub agent: bool,
    /// May receive metrics; `None` is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_subscribe_metrics: Option<bool>,
    /// May manage an agent's session; `None` is no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_manage_agent_session: Option<bool>,
    /// May create and delete rooms.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub room_create: bool,
    /// May list rooms.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub room_list: bool,
    /// May record rooms.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub room_record: bool,
    /// May administer [`room`](Self::room).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub room_admin: bool,
    /// May bring media of other protocols in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ingress_admin: bool,
    /// The room to which an administrator may forward or move participants.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub destination_room: String,
}

impl VideoGrant {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The grant for telephone calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SipGrant {
    /// May manage trunks and dispatch rules.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// May place calls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub call: bool,
}

/// The grant for agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentGrant {
    /// May manage agents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// May manage simulations.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub simulation_admin: bool,
}

/// The grant for models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InferenceGrant {
    /// May have models run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub perform: bool,
}

/// The grant for recorded measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ObservabilityGrant {
    /// May write them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub write: bool,
}

impl Claims {
    /// The identity of the bearer: `sub`, or `jti` in old tokens.
    pub fn identity(&self) -> &str {
        if self.sub.is_empty() { &self.jti } else { &self.sub }
    }

    /// The kind of participant that the token is for. A kind that is not known is the standard one.
    pub fn participant_kind(&self) -> ParticipantKind {
        ParticipantKind::from_name(&self.kind).unwrap_or_default()
    }

    /// Details of the kind, as far as they are known.
    pub fn known_kind_details(&self) -> impl Iterator<Item = KindDetail> {
        self.kind_details.iter().filter_map(|name| KindDetail::from_name(name))
    }
}
