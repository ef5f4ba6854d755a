//! Publishers deciding who may have their tracks.

use southbound::TrackId;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::participant::{Participant, TrackPermissions};
use crate::room::Room;
use crate::room::roster::{Roster, STORE_FULL, list_len};
use crate::room::updates::Updates;
use crate::track::Track;
use crate::{RefusalReason, Request, UpdateTrackPermissions};

/// About what a receiver is sent for each track that it may have from now on, or no longer, in
/// bytes: word of it, and its part of a description.
const UPDATE_LEN: usize = 2048;

impl Room {
    /// A publisher says who may have its tracks.
    pub(in crate::room) fn update_track_permissions(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        request: UpdateTrackPermissions,
    ) {
        let Some(request) = open(ctx, &mut self.roster, &mut self.updates, publisher, request) else {
            return;
        };
        for (receiver, track) in permit(&mut self.roster, publisher, request) {
            self.subscribers
                .reconcile(ctx, &mut self.roster, &self.updates, receiver, publisher, track);
        }
        self.data.tracks.update_receivers(ctx, &mut self.roster);
    }
}

/// Takes a list of permissions if the others may hear of it now, and returns it. A publisher that
/// says so all the time is heard when they may hear of it again.
fn open(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    updates: &mut Updates,
    publisher: ParticipantKey,
    request: UpdateTrackPermissions,
) -> Option<UpdateTrackPermissions> {
    let participant_ref = roster.participant_ref(publisher);
    let participant = roster.get_mut(publisher)?;
    let identity = participant.profile.identity.clone();
    let opens = updates.news_open_at(ctx, &identity);
    // The latest list replaces one that waits.
    participant.publications.take_postponed_permissions();
    participant.weigh();
    if !roster.takes(publisher, list_len(&request)) {
        let request = Request::UpdateTrackPermissions(request);
        roster.refuse(ctx, publisher, RefusalReason::LimitExceeded, STORE_FULL, request);
        return None;
    }
    let participant = roster.get_mut(publisher)?;
    if let Some(opens) = opens {
        participant.publications.postpone_permissions(request);
        participant.weigh();
        ctx.wake(opens - ctx.now, Timer::Participant(participant_ref));
        return None;
    }
    let tracks = participant.publications.tracks.len() + participant.data.tracks.published.len();
    let told = tracks * UPDATE_LEN;
    updates.charge_news(ctx, roster, &identity, told);
    Some(request)
}

/// Sets who may have the tracks of a publisher. Returns the receivers that this changes something
/// for, with the tracks.
fn permit(
    roster: &mut Roster,
    publisher: ParticipantKey,
    request: UpdateTrackPermissions,
) -> Vec<(ParticipantKey, TrackId)> {
    let track_permissions = if request.all_participants {
        TrackPermissions::Everybody
    } else {
        let entries = request.permissions.into_iter();
        let named = entries.filter_map(|entry| {
            let identity = match roster.by_sid(&entry.participant_sid) {
                Some(key) => roster[key].profile.identity.clone(),
                None => entry.participant_identity,
            };
            let tracks = (!entry.all_tracks).then(|| entry.track_sids.into_iter().collect());
            (!identity.is_empty()).then_some((identity, tracks))
        });
        TrackPermissions::Only(named.collect())
    };
    let Some(participant) = roster.get_mut(publisher) else {
        return Vec::new();
    };
    let before = participant.publications.set_permissions(track_permissions);
    participant.weigh();
    let participant = &roster[publisher];
    let after = participant.publications.permissions();
    let changes = |receiver: &Participant, track: &Track| {
        let admits = |list: &TrackPermissions| list.admits(&receiver.profile.identity, track.sid());
        admits(&before) != admits(after)
    };
    let receivers = roster.all().filter(|receiver| receiver.key != publisher);
    let changed = receivers.flat_map(|receiver| {
        let tracks = participant.publications.tracks.values();
        let changed = tracks.filter(move |track| changes(receiver, track));
        changed.map(|track| (receiver.key, track.id))
    });
    changed.collect()
}
