//! The claims of a token.

use std::collections::BTreeMap;

use serde::Serialize;

/// The claims of a token.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    /// The API key that signed.
    pub iss: String,
    /// The identity.
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
    /// The kind of participant: the protocol's names in small letters, such as `agent`, `egress` or `sip`. Empty is `standard`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Details of the kind, by the protocol's names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kind_details: Vec<String>,
    /// The rights of the bearer.
    pub video: VideoGrant,
    /// `roomConfig` and `roomPreset`, kept so that a refreshed token says the same.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

/// The rights of a token's bearer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
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
    /// Sources it may publish: `camera`, `microphone`, `screen_share`, `screen_share_audio`, `unknown`. Empty is all.
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
    /// The grants that decide nothing about joining, such as `roomAdmin`, kept so that a refreshed token says the same.
    #[serde(flatten)]
    pub others: BTreeMap<String, serde_json::Value>,
}

impl Claims {
    /// The identity of the bearer: `sub`, or `jti` in old tokens.
    pub fn identity(&self) -> &str {
        if self.sub.is_empty() { &self.jti } else { &self.sub }
    }
}
