//! Names, metadata and attributes of participants, and the tokens that let them come back.

use std::collections::BTreeMap;
use std::time::Duration;

use access::{Claims, sign};

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::ATTRIBUTES_MAX;
use crate::room::Room;
use crate::room::store::{STORE_FULL, texts_len};
use crate::{Notification, RefusalReason, Request, UpdateMetadata};

/// How long a refreshed token is good for at least.
const TOKEN_LIFETIME: Duration = Duration::from_secs(600);
/// How often it is refreshed.
const TOKEN_REFRESH: Duration = Duration::from_secs(300);

/// Why texts of a participant are not stored.
pub(in crate::room) enum Excess {
    /// The attributes are too long.
    Attributes,
    /// The room keeps no more.
    Store,
}

impl Room {
    /// A client changes its name, metadata or attributes; empty ones stay as they are, empty
    /// attribute values are removed.
    pub(in crate::room) fn update_metadata(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateMetadata,
    ) {
        let Some(participant) = self.participants.get(&key) else {
            return;
        };
        if !participant.permission.update_metadata {
            let text = "the token does not allow changing one's own metadata";
            return self.refuse(
                ctx,
                key,
                RefusalReason::NotAllowed,
                text,
                Request::UpdateMetadata(request),
            );
        }
        let changed = self.change_metadata(ctx, key, &request.name, &request.metadata, &request.attributes);
        if let Err(excess) = changed {
            let text = match excess {
                Excess::Attributes => "attributes too long",
                Excess::Store => STORE_FULL,
            };
            return self.refuse(
                ctx,
                key,
                RefusalReason::LimitExceeded,
                text,
                Request::UpdateMetadata(request),
            );
        }
        if let Some(participant) = self.participants.get(&key) {
            participant.notify(ctx, Notification::Accepted(Request::UpdateMetadata(request)));
        }
    }

    /// Changes what is said of a participant; empty texts stay as they are, attributes with an
    /// empty value are removed.
    ///
    /// Errors: it would be too much; nothing has changed.
    pub(in crate::room) fn change_metadata(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        name: &str,
        metadata: &str,
        changes: &BTreeMap<String, String>,
    ) -> Result<(), Excess> {
        let Some(participant) = self.participants.get(&key) else {
            return Ok(());
        };
        let attributes = merged(&participant.attributes, changes);
        let attributes_len: usize = attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
        if attributes_len > ATTRIBUTES_MAX {
            return Err(Excess::Attributes);
        }
        let or_known = |said: &str, known: &String| {
            if said.is_empty() {
                known.clone()
            } else {
                said.to_owned()
            }
        };
        let name = or_known(name, &participant.name);
        let metadata = or_known(metadata, &participant.metadata);
        let is_new =
            (&name, &metadata, &attributes) != (&participant.name, &participant.metadata, &participant.attributes);
        let before = texts_len(&participant.name, &participant.metadata, &participant.attributes);
        let more = texts_len(&name, &metadata, &attributes).saturating_sub(before);
        if more > 0 && !self.takes(key, more) {
            return Err(Excess::Store);
        }
        if let Some(participant) = self.participants.get_mut(&key) {
            (participant.name, participant.metadata, participant.attributes) = (name, metadata, attributes);
        }
        if is_new {
            // The news before the answer: a client that reads the answer first would base its next
            // change on what was before.
            self.announce_to_all(ctx, key);
            self.refresh_token(ctx, key);
        }
        Ok(())
    }

    /// Sends a new token if it is time again.
    pub(in crate::room) fn refresh_token_if_due(&mut self, ctx: &mut Context<'_>, key: ParticipantKey) {
        let participant_ref = self.participant_ref(key);
        let found = self.participants.get_mut(&key);
        if let Some(participant) = found.filter(|found| ctx.now >= found.deadlines.refresh) {
            participant.deadlines.refresh = ctx.wake(TOKEN_REFRESH, Timer::Participant(participant_ref));
            self.refresh_token(ctx, key);
        }
    }

    /// Sends a token by which a client that starts over is what it is now. It is good for as long
    /// as the one the application signed, and long enough to be followed by the next in any case.
    pub(in crate::room) fn refresh_token(&self, ctx: &mut Context<'_>, key: ParticipantKey) {
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
            participant.notify(ctx, Notification::Token(token));
        }
    }
}

fn merged(known: &BTreeMap<String, String>, changes: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut merged = known.clone();
    for (name, value) in changes {
        if value.is_empty() {
            merged.remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    merged
}
