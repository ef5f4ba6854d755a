//! Publishers deciding who may have their tracks.

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::participant::TrackPermissions;
use crate::room::Room;
use crate::room::roster::{STORE_FULL, list_len};
use crate::{RefusalReason, Request, UpdateTrackPermissions};

/// About what a receiver is sent for each track that it may have from now on, or no longer, in
/// bytes: word of it, and its part of a description.
const UPDATE_LEN: usize = 2048;

impl Room {
    /// A publisher says who may have its tracks. One that says so all the time is heard when the
    /// others may hear of it again.
    pub(in crate::room) fn update_track_permissions(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        request: UpdateTrackPermissions,
    ) {
        let participant_ref = self.roster.participant_ref(publisher);
        let Some(identity) = self.roster.get(publisher).map(|found| found.identity.clone()) else {
            return;
        };
        let opens = self.updates.news_open_at(ctx, &identity);
        let participant = self.roster.get_mut(publisher).expect("it was there a moment ago");
        // The latest list replaces one that waits.
        participant.track_permissions_asked = None;
        participant.weigh();
        if !self.roster.takes(publisher, list_len(&request)) {
            let request = Request::UpdateTrackPermissions(request);
            return self
                .roster
                .refuse(ctx, publisher, RefusalReason::LimitExceeded, STORE_FULL, request);
        }
        let participant = self.roster.get_mut(publisher).expect("it was there a moment ago");
        if let Some(opens) = opens {
            participant.track_permissions_asked = Some(request);
            participant.weigh();
            ctx.wake(opens - ctx.now, Timer::Participant(participant_ref));
            return;
        }
        let tracks = participant.tracks.len() + participant.data_tracks.published.len();
        let told = tracks * UPDATE_LEN;
        self.updates.charge_news(ctx, &self.roster, &identity, told);
        self.set_track_permissions(ctx, publisher, request);
    }

    /// The permissions that a publisher stated before it was announced.
    pub(in crate::room) fn update_track_permissions_as_asked(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
    ) {
        let found = self.roster.get_mut(publisher);
        if let Some(request) = found.and_then(|found| found.track_permissions_asked.take()) {
            self.update_track_permissions(ctx, publisher, request);
        }
    }

    fn set_track_permissions(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        request: UpdateTrackPermissions,
    ) {
        let track_permissions = if request.all_participants {
            TrackPermissions::Everybody
        } else {
            let entries = request.permissions.into_iter();
            let named = entries.filter_map(|entry| {
                let identity = match self.roster.by_sid(&entry.participant_sid) {
                    Some(key) => self.roster[key].identity.clone(),
                    None => entry.participant_identity,
                };
                let tracks = (!entry.all_tracks).then(|| entry.track_sids.into_iter().collect());
                (!identity.is_empty()).then_some((identity, tracks))
            });
            TrackPermissions::Only(named.collect())
        };
        let Some(participant) = self.roster.get_mut(publisher) else {
            return;
        };
        participant.track_permissions_stated |= track_permissions != TrackPermissions::Everybody;
        let before = std::mem::replace(&mut participant.track_permissions, track_permissions);
        let after = participant.track_permissions.clone();
        let tracks: Vec<_> = participant
            .tracks
            .values()
            .map(|track| (track.id, track.sid().to_owned()))
            .collect();
        for receiver in self.roster.others(publisher) {
            for (track, track_sid) in &tracks {
                let identity = &self.roster[receiver].identity;
                if before.admits(identity, track_sid) != after.admits(identity, track_sid) {
                    self.subscribers
                        .reconcile(ctx, &mut self.roster, &self.updates, receiver, publisher, *track);
                }
            }
        }
        self.roster.weigh(publisher);
        self.data.tracks.update_receivers(ctx, &mut self.roster);
    }
}
