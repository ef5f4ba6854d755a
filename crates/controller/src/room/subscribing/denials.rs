//! Telling receivers which tracks they may not have.
//!
//! Clients take each track as permitted until they are told otherwise, and drop what they are told
//! of tracks that they have not heard of. So a receiver hears of a permission after the news of
//! its publisher.

use southbound::TrackId;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::roster::Roster;
use crate::room::subscribing::Subscribers;
use crate::room::updates::Updates;
use crate::{Counter, Notification};

impl Subscribers {
    /// Tells a receiver whether it may have a track, if that is not what it takes for granted or
    /// was told last.
    pub(in crate::room) fn tell_track_permission(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        receiver: ParticipantKey,
        publisher: ParticipantKey,
        track: TrackId,
    ) {
        if updates.has_news(publisher) || self.returning == Some(receiver) {
            return;
        }
        let Some(allowed) = track_permission(roster, receiver, publisher, track) else {
            return;
        };
        let Some(to) = roster.get_mut(receiver) else {
            return;
        };
        match (allowed, to.subscriptions.is_denied(track)) {
            (true, true) => to.subscriptions.permit(track),
            (false, false) if !to.subscriptions.deny(track) => return ctx.count(Counter::LimitExceeded),
            (false, false) => {}
            (true, false) | (false, true) => return,
        }
        send_track_permission(ctx, roster, receiver, publisher, track, allowed);
    }

    /// Tells everybody the permissions of a participant's tracks that they were not told yet.
    pub(in crate::room) fn tell_track_permissions_of(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        updates: &Updates,
        publisher: ParticipantKey,
    ) {
        let found = roster.get(publisher);
        let Some(found) = found.filter(|found| found.publications.are_permissions_stated()) else {
            return;
        };
        let tracks: Vec<_> = found.publications.tracks.keys().copied().collect();
        for receiver in roster.others(publisher) {
            for track in &tracks {
                self.tell_track_permission(ctx, roster, updates, receiver, publisher, *track);
            }
        }
    }

    /// Tells a participant that comes back all permissions that may have changed: it may have
    /// missed some.
    pub(in crate::room) fn tell_track_permissions_again(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        receiver: ParticipantKey,
    ) {
        let publishers = roster.all();
        let stated = publishers.filter(|publisher| publisher.publications.are_permissions_stated());
        let tracks: Vec<_> = stated.flat_map(|publisher| publisher.track_keys()).collect();
        for (publisher, track) in tracks {
            let Some(allowed) = track_permission(roster, receiver, publisher, track) else {
                continue;
            };
            let Some(to) = roster.get_mut(receiver) else {
                return;
            };
            match allowed {
                true => to.subscriptions.permit(track),
                false if to.subscriptions.deny(track) => {}
                false => continue,
            }
            send_track_permission(ctx, roster, receiver, publisher, track, allowed);
        }
    }
}

/// Nobody sees a participant any more. Clients that see it again begin with the permissions
/// that they take for granted.
pub(in crate::room) fn forget_denials(roster: &mut Roster, publisher: ParticipantKey) {
    let Some(found) = roster.get(publisher) else {
        return;
    };
    let tracks: Vec<_> = found.publications.tracks.keys().copied().collect();
    for participant in roster.all_mut() {
        for track in &tracks {
            participant.subscriptions.permit(*track);
        }
    }
}

/// Whether a publisher lets a receiver have a track; `None` for tracks that the receiver does
/// not know of or has no right to ask for.
fn track_permission(
    roster: &Roster,
    receiver: ParticipantKey,
    publisher: ParticipantKey,
    track: TrackId,
) -> Option<bool> {
    let to = roster.get(receiver)?;
    let from = roster.get(publisher)?;
    let track = from
        .publications
        .tracks
        .get(&track)
        .filter(|track| track.media.is_some())?;
    let is_known =
        receiver != publisher && !from.authorization.permission.hidden && to.authorization.permission.subscribe;
    is_known.then(|| from.admits(to, track.sid()))
}

fn send_track_permission(
    ctx: &mut Context<'_>,
    roster: &Roster,
    receiver: ParticipantKey,
    publisher: ParticipantKey,
    track: TrackId,
    allowed: bool,
) {
    let (Some(to), Some(from)) = (roster.get(receiver), roster.get(publisher)) else {
        return;
    };
    let Some(track) = from.publications.tracks.get(&track) else {
        return;
    };
    let permission = Notification::TrackPermission {
        participant_sid: from.profile.sid.clone(),
        track_sid: track.sid().to_owned(),
        allowed,
    };
    to.notify(ctx, permission);
}
