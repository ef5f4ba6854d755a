//! The token that an agent joins with.

use std::time::Duration;

use access::{ApiKeys, Claims, VideoGrant};
use livekit_protocol as proto;

/// How long a token is valid.
const VALID: Duration = Duration::from_secs(3600);

/// The attribute with the name that the worker registered under.
const NAME_ATTRIBUTE: &str = "lk.agent_name";

/// The agent of a token.
pub(super) struct Agent<'a> {
    /// The room's name.
    pub(super) room: &'a str,
    /// The name of its worker.
    pub(super) name: &'a str,
    /// The API key that signs.
    pub(super) key: &'a str,
    /// The permission that its worker registered with.
    pub(super) permission: &'a proto::ParticipantPermission,
    /// The description that its worker gives.
    pub(super) said: proto::AvailabilityResponse,
}

/// The token, from `unix` on (since 1970); `None` when the key is not among `keys`.
pub(super) fn sign(agent: Agent<'_>, keys: &ApiKeys, unix: Duration) -> Option<String> {
    let permission = agent.permission;
    let mut claims = Claims {
        iss: agent.key.to_owned(),
        sub: agent.said.participant_identity,
        name: agent.said.participant_name,
        metadata: agent.said.participant_metadata,
        attributes: agent.said.participant_attributes.into_iter().collect(),
        kind: "agent".to_owned(),
        nbf: Some(unix.as_secs()),
        exp: Some((unix + VALID).as_secs()),
        video: VideoGrant {
            room_join: true,
            room: agent.room.to_owned(),
            agent: true,
            can_publish: Some(permission.can_publish),
            can_subscribe: Some(permission.can_subscribe),
            can_publish_data: Some(permission.can_publish_data),
            can_update_own_metadata: Some(permission.can_update_metadata),
            can_subscribe_metrics: Some(permission.can_subscribe_metrics),
            hidden: permission.hidden,
            ..VideoGrant::default()
        },
        ..Claims::default()
    };
    claims
        .attributes
        .insert(NAME_ATTRIBUTE.to_owned(), agent.name.to_owned());
    access::sign(&claims, keys)
}
