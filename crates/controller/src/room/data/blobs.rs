//! Data blobs of participants: stored, and read by others.

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::roster::{Roster, STORE_FULL};
use crate::{Blob, GetBlob, Notification, RefusalReason, Request, StoreBlob, Visible};

/// A participant stores a blob.
pub(in crate::room) fn store_blob(ctx: &mut Context<'_>, roster: &mut Roster, key: ParticipantKey, request: StoreBlob) {
    let more = request.blob.len();
    let refused = if !roster.takes(key, more) {
        Some(STORE_FULL)
    } else {
        let blobs = roster.get_mut(key).map(|participant| &mut participant.data.blobs);
        let stored = blobs.is_some_and(|blobs| blobs.store(&request.blob));
        (!stored).then_some("data blobs of the participant exceed the limit")
    };
    if let Some(text) = refused {
        let request = Request::StoreBlob(request);
        return roster.refuse(ctx, key, RefusalReason::LimitExceeded, text, request);
    }
    roster.weigh(key);
    let stored = Notification::BlobStored {
        request_id: request.request_id,
        key: request.blob.key,
    };
    if let Some(participant) = roster.get(key) {
        participant.notify(ctx, stored);
    }
}

/// A participant reads a blob of its own or of another that it can see.
pub(in crate::room) fn get_blob(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey, request: GetBlob) {
    let owner = roster.by_identity(&request.identity);
    let owner = owner.and_then(|owner| roster.get(owner));
    let seen = owner.filter(|owner| owner.key == key || owner.is_visible(Visible::Everybody));
    let found = match seen {
        Some(owner) => owner.data.blobs.get(&request.key).ok_or("data blob not found"),
        None => Err("participant not found"),
    };
    let contents = match found {
        Ok(contents) => contents.clone(),
        Err(text) => {
            return roster.refuse(ctx, key, RefusalReason::NotFound, text, Request::GetBlob(request));
        }
    };
    if let Some(participant) = roster.get(key) {
        let blob = Notification::Blob {
            request_id: request.request_id,
            blob: Blob {
                key: request.key,
                contents,
            },
        };
        participant.notify(ctx, blob);
    }
}
