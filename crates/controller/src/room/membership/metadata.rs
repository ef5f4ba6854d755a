//! Names, metadata and attributes of participants, and the tokens that let them come back.

use std::collections::BTreeMap;
use std::time::Duration;

use access::{Claims, sign};

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::ATTRIBUTES_MAX;
use crate::participant::TOKENS;
use crate::room::roster::{Roster, STORE_FULL};
use crate::room::updates::Updates;
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

impl Updates {
    /// A client changes its name, metadata or attributes; empty ones stay as they are, empty
    /// attribute values are removed.
    pub(in crate::room) fn update_metadata(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        request: UpdateMetadata,
    ) {
        let Some(participant) = roster.get(key) else {
            return;
        };
        if !participant.authorization.permission.update_metadata {
            let text = "the token does not allow changing one's own metadata";
            let request = Request::UpdateMetadata(request);
            return roster.refuse(ctx, key, RefusalReason::NotAllowed, text, request);
        }
        let changed = self.change_metadata(ctx, roster, key, &request.name, &request.metadata, &request.attributes);
        if let Err(excess) = changed {
            let text = match excess {
                Excess::Attributes => "attributes too long",
                Excess::Store => STORE_FULL,
            };
            let request = Request::UpdateMetadata(request);
            return roster.refuse(ctx, key, RefusalReason::LimitExceeded, text, request);
        }
        if let Some(participant) = roster.get(key) {
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
        roster: &mut Roster,
        key: ParticipantKey,
        name: &str,
        metadata: &str,
        changes: &BTreeMap<String, String>,
    ) -> Result<(), Excess> {
        let Some(participant) = roster.get(key) else {
            return Ok(());
        };
        let change = participant.profile.change_of_texts(name, metadata, changes);
        if change.attributes_len > ATTRIBUTES_MAX {
            return Err(Excess::Attributes);
        }
        let more = change.texts_len.saturating_sub(participant.profile.texts_len());
        if more > 0 && !roster.takes(key, more) {
            return Err(Excess::Store);
        }
        if !change.is_new {
            return Ok(());
        }
        if let Some(participant) = roster.get_mut(key) {
            participant.profile.change_texts(name, metadata, changes);
        }
        // The news before the answer: a client that reads the answer first would base its next
        // change on what was before.
        self.announce_to_all(ctx, roster, key);
        refresh_token_soon(ctx, roster, key);
        Ok(())
    }
}

/// Sends a new token after a change. A client that changes all the time gets one a second.
fn refresh_token_soon(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let participant_ref = roster.participant_ref(key);
    let Some(participant) = roster.get_mut(key) else {
        return;
    };
    if participant.authorization.token_budget.take(ctx.now, TOKENS, 1.0) {
        return refresh_token(ctx, roster, key);
    }
    let soon = Duration::from_secs(1) / TOKENS.per_second;
    if participant.signalling.deadlines.refresh > ctx.now + soon {
        participant.signalling.deadlines.refresh = ctx.wake(soon, Timer::Participant(participant_ref));
    }
}

/// Sends a new token if it is time again.
pub(in crate::room) fn refresh_token_if_due(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey) {
    let participant_ref = roster.participant_ref(key);
    let found = roster.get_mut(key);
    if let Some(participant) = found.filter(|found| ctx.now >= found.signalling.deadlines.refresh) {
        participant.signalling.deadlines.refresh = ctx.wake(TOKEN_REFRESH, Timer::Participant(participant_ref));
        participant.authorization.token_budget.take(ctx.now, TOKENS, 1.0);
        refresh_token(ctx, roster, key);
    }
}

/// Sends a token by which a client that starts over is what it is now. It is good for as long
/// as the one the application signed, and long enough to be followed by the next in any case.
pub(in crate::room) fn refresh_token(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey) {
    let Some(participant) = roster.get(key) else {
        return;
    };
    let expires = (ctx.unix() + TOKEN_LIFETIME).as_secs();
    let claims = Claims {
        exp: Some(participant.authorization.claims.exp.unwrap_or(0).max(expires)),
        nbf: None,
        // The call needs none of these, so a refreshed token does not carry them on.
        sip: None,
        agent: None,
        inference: None,
        observability: None,
        sha256: String::new(),
        name: participant.profile.name.clone(),
        metadata: participant.profile.metadata.clone(),
        attributes: participant.profile.attributes.clone(),
        ..participant.authorization.claims.clone()
    };
    if let Some(token) = sign(&claims, &ctx.core.config.keys) {
        participant.notify(ctx, Notification::Token(token));
    }
}
