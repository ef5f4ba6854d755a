//! What participants say of themselves, and the tokens that let them come back.

use std::collections::BTreeMap;
use std::time::Duration;

use livekit_protocol::request_response::{Reason, Request};
use livekit_protocol::signal_response::Message;
use livekit_protocol::{RequestResponse, UpdateParticipantMetadata};

use super::Room;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::ATTRIBUTES_MAX;
use access::{Claims, sign};

/// How long a refreshed token is good for at least.
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
        if attributes_len > ATTRIBUTES_MAX {
            let text = "attributes too long";
            return self.refuse(
                ctx,
                key,
                id,
                Reason::LimitExceeded,
                text,
                Request::UpdateMetadata(request),
            );
        }
        let name = Some(&request.name)
            .filter(|name| !name.is_empty())
            .unwrap_or(&participant.name);
        let metadata = Some(&request.metadata)
            .filter(|said| !said.is_empty())
            .unwrap_or(&participant.metadata);
        let is_new =
            (name, metadata, &attributes) != (&participant.name, &participant.metadata, &participant.attributes);
        (participant.name, participant.metadata) = (name.clone(), metadata.clone());
        participant.attributes = attributes;
        if is_new {
            // The news before the answer: a client that reads the answer first would base its next change on what was before.
            self.announce_to_all(ctx, key);
            self.refresh_token(ctx, key);
        }
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

    /// Sends a new token if it is time again.
    pub(super) fn refresh_token_if_due(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let place = self.place(key);
        let found = self.participants.get_mut(&key);
        if let Some(participant) = found.filter(|found| ctx.now >= found.deadlines.refresh) {
            participant.deadlines.refresh = ctx.wake(TOKEN_REFRESH, Timer::Participant(place));
            self.refresh_token(ctx, key);
        }
    }

    /// Sends a token by which a client that starts over is what it is now. It is good for as long as the one the application signed, and long enough
    /// to be followed by the next in any case.
    pub(super) fn refresh_token(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let Some(participant) = self.participants.get(&key) else {
            return;
        };
        let expires = (ctx.unix() + TOKEN_LIFETIME).as_secs();
        let claims = Claims {
            exp: Some(participant.claims.exp.unwrap_or(0).max(expires)),
            nbf: None,
            // The call needs none of these, so a refreshed token does not carry them on.
            sip: None,
            agent: None,
            inference: None,
            observability: None,
            sha256: String::new(),
            name: participant.name.clone(),
            metadata: participant.metadata.clone(),
            attributes: participant.attributes.clone(),
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
