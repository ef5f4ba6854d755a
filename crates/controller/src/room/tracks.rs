//! Tracks of a room: their beginning and end concern receivers, speakers and everybody who is told.

use southbound::TrackId;
use wire::Mid;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::events::track_change;
use crate::room::publishing::{claim, lose_backup};
use crate::room::{Room, publishing};
use crate::track::Version;
use crate::{AddTrack, RoomChange};

impl Room {
    /// A client announces a track.
    pub(in crate::room) fn add_track(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: AddTrack) {
        let Some(addition) = self.publications.add(ctx, &mut self.roster, key, request) else {
            return;
        };
        if addition.is_news {
            self.updates.announce(ctx, &mut self.roster, key);
        }
        // Its media section may have come first.
        for (mid, track) in claim(&mut self.roster, key) {
            self.arrive(ctx, key, mid, track);
        }
    }

    /// A track has its media section, in one of its codecs: everybody may have it.
    pub(in crate::room) fn arrive(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, mid: Mid, name: TrackId) {
        let Some(arrival) = publishing::arrive(ctx, &mut self.roster, key, mid, name) else {
            return;
        };
        let (id, version) = (arrival.track, arrival.version);
        self.subscribers.demand(id);
        if arrival.is_new {
            self.speaking.choose_voices(ctx, &self.roster);
        }
        if arrival.is_new || arrival.is_told_anew {
            self.updates.announce(ctx, &mut self.roster, key);
        }
        if arrival.is_new && version == Version::Primary {
            self.emit(ctx, || {
                let publisher = &self.roster[key];
                track_change(
                    publisher,
                    &publisher.publications.tracks[&id],
                    RoomChange::TrackPublished,
                )
            });
            self.subscribers
                .offer_to_everybody(ctx, &mut self.roster, &self.updates, key, id);
        } else {
            self.subscribers
                .refresh_subscriptions_to(ctx, &mut self.roster, &self.updates, key, id, version);
        }
    }

    /// A track is over, or only its second codec.
    pub(in crate::room) fn unpublish(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, track: TrackId) {
        let Some(removed) = self.publications.end(ctx, &mut self.roster, key, track) else {
            if let Some(track) = lose_backup(ctx, &mut self.roster, key, track) {
                self.subscribers
                    .lose_backup(ctx, &mut self.roster, &self.updates, key, track);
            }
            return;
        };
        for id in removed.ids() {
            self.subscribers.trunking.end(ctx, id);
        }
        if removed.media.is_some() {
            self.subscribers.end_subscriptions_to(ctx, &mut self.roster, track);
            self.speaking.choose_voices(ctx, &self.roster);
            self.updates.announce(ctx, &mut self.roster, key);
            if let Some(participant) = self.roster.get(key) {
                self.emit(ctx, || {
                    track_change(participant, &removed, RoomChange::TrackUnpublished)
                });
            }
        }
    }
}
