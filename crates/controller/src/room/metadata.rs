//! What participants say of themselves, and the tokens that let them come back.

use std::collections::BTreeMap;
use std::time::Duration;

use livekit_protocol::request_response::{Reason, Request};
use livekit_protocol::signal_response::Message;
use livekit_protocol::{RequestResponse, UpdateParticipantMetadata};

use super::Room;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::{ATTRIBUTES_MAX, METADATA_MAX, NAME_MAX};
use crate::livekit::{Claims, VideoGrant, sign};

/// How long a refreshed token is good for.
const TOKEN_LIFETIME: Duration = Duration::from_secs(600);
/// How often it is refreshed.
const TOKEN_REFRESH: Duration = Duration::from_secs(300);

impl Room {
    /// A client changes its name, metadata or attributes; empty ones stay as they are, empty attribute values are removed.
    pub(super) fn update_metadata(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateParticipantMetadata,
    ) {
        const ANSWERED_SINCE: i32 = 15;
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let id = request.request_id;
        if !participant.permission.update_metadata {
            let text = "the token does not allow changing one's own metadata";
            return self.refuse(ctx, key, id, Reason::NotAllowed, text, Request::UpdateMetadata(request));
        }
        let attributes = merged(&participant.attributes, &request);
        let attributes_len: usize = attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
        if request.name.len() > NAME_MAX || request.metadata.len() > METADATA_MAX || attributes_len > ATTRIBUTES_MAX {
            let text = "name, metadata or attributes are too long";
            return self.refuse(
                ctx,
                key,
                id,
                Reason::LimitExceeded,
                text,
                Request::UpdateMetadata(request),
            );
        }
        participant.attributes = attributes;
        if !request.name.is_empty() {
            participant.name.clone_from(&request.name);
        }
        if !request.metadata.is_empty() {
            participant.metadata.clone_from(&request.metadata);
        }
        // The news before the answer: a client that reads the answer first would base its next change on what was before.
        self.announce_to_all(ctx, key);
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if participant.protocol() >= ANSWERED_SINCE {
            let request = Some(Request::UpdateMetadata(request));
            let ok = RequestResponse {
                request_id: id,
                reason: Reason::Ok.into(),
                message: String::new(),
                request,
            };
            participant.send(ctx, Message::RequestResponse(ok));
        }
    }

    /// Sends a new token when the one a client has would not outlast the next round.
    pub(super) fn refresh_token_if_due(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let (place, unix) = (self.place(key), ctx.unix());
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if ctx.now < participant.deadlines.refresh {
            return;
        }
        participant.deadlines.refresh = ctx.wake(TOKEN_REFRESH, Timer::Participant(place));
        let expires = Duration::from_secs(participant.claims.exp.unwrap_or(0));
        if expires > unix + TOKEN_REFRESH * 2 {
            return;
        }
        let expires = unix + TOKEN_LIFETIME;
        participant.claims.exp = Some(expires.as_secs());
        let claims = Claims {
            name: participant.name.clone(),
            metadata: participant.metadata.clone(),
            attributes: participant.attributes.clone(),
            nbf: None,
            video: VideoGrant {
                room_join: true,
                ..participant.claims.video.clone()
            },
            ..participant.claims.clone()
        };
        if let Some(token) = sign(&claims, &ctx.core.config.keys) {
            participant.send(ctx, Message::RefreshToken(token));
        }
    }
}

fn merged(known: &BTreeMap<String, String>, request: &UpdateParticipantMetadata) -> BTreeMap<String, String> {
    let mut merged = known.clone();
    for (name, value) in &request.attributes {
        if value.is_empty() {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    merged
}
