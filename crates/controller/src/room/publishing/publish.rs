//! Tracks on their way in: announced by `add_track`, found in an offer, in whichever order the two
//! come.

use southbound::{Command, TrackId};
use wire::Mid;

use super::backup::check_backup;
use super::matching;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::info::layers_len;
use crate::limits::{PENDING_TRACKS_MAX, TRACKS_MAX};
use crate::negotiation::{Section, Up};
use crate::participant::Participant;
use crate::room::Room;
use crate::room::store::STORE_FULL;
use crate::track::{Track, Version};
use crate::{
    AddTrack, MuteTrack, Notification, RefusalReason, Request, UpdateAudioTrack, UpdateLayers, UpdateVideoTrack,
};

impl Room {
    /// A client announces a track. It is answered at once, before any media.
    pub(in crate::room) fn add_track(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: AddTrack) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if let Err((reason, text)) = check(participant, &request) {
            return self.refuse(ctx, key, reason, text, Request::AddTrack(request));
        }
        let Some(kind) = request.kind else {
            return self.refuse(
                ctx,
                key,
                RefusalReason::UnsupportedType,
                "not an audio or video track",
                Request::AddTrack(request),
            );
        };
        if !request.sid.is_empty() {
            return self.add_backup(ctx, key, &request);
        }
        if let Some(known) = matching::announced_before(participant, kind, &request.cid) {
            let published = Notification::TrackPublished {
                cid: request.cid,
                track: known.info.clone(),
            };
            return participant.notify(ctx, published);
        }
        let track = Track::announced(
            kind,
            &request,
            participant.traits.disabled_codecs,
            &mut ctx.core.ids,
            &mut ctx.core.random,
        );
        if !self.takes(key, track.info.told_len()) {
            let request = Request::AddTrack(request);
            return self.refuse(ctx, key, RefusalReason::LimitExceeded, STORE_FULL, request);
        }
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let id = track.id;
        let published = Notification::TrackPublished {
            cid: request.cid,
            track: track.info.clone(),
        };
        participant.notify(ctx, published);
        self.track_sids.insert(track.sid().to_owned(), (key, id));
        let ids = track.ids();
        participant.tracks.insert(id, track);
        participant.weigh();
        let participant_ref = self.participant_ref(key);
        ctx.core.index.tracks.extend(ids.map(|id| (id, participant_ref)));
        // Its media section may have come first.
        for (mid, track) in self.claim(key) {
            self.arrive(ctx, key, mid, track);
        }
    }

    /// Finds the announced tracks that sections without one carry: by the client's id for the
    /// track, else by kind, since some browsers change ids.
    pub(in crate::room) fn claim(&mut self, key: ParticipantKey) -> Vec<(Mid, TrackId)> {
        let Some(participant) = self.participants.get_mut(&key) else {
            return Vec::new();
        };
        let Some(peer) = participant.publisher.as_mut() else {
            return Vec::new();
        };
        let claims = matching::claims(&peer.sections, &participant.tracks);
        for (mid, uplink) in &claims {
            let section = peer.sections.iter_mut().find(|section| section.mid == *mid);
            if let Some(sides) = section.and_then(Section::sides_mut) {
                sides.up = Up::Track(*uplink);
            }
        }
        claims.into_iter().map(|(mid, uplink)| (mid, uplink.track)).collect()
    }

    /// A track has its media section, in one of its codecs: the agent may expect it and everybody
    /// may have it.
    pub(in crate::room) fn arrive(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, mid: Mid, name: TrackId) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(peer) = participant.publisher.as_ref() else {
            return;
        };
        let mut tracks = participant.tracks.values_mut();
        let track = tracks.find_map(|track| track.version(name).map(|version| (track, version)));
        let (Some(section), Some((track, version))) = (peer.section(mid), track) else {
            return;
        };
        if section.is_refused() {
            return;
        }
        let (id, is_new) = (track.id, track.media_in(version).is_none());
        let told = track.info.clone();
        if !track.arrive(version, peer.transport, section) {
            return;
        }
        let is_told_anew = track.info != told;
        let Some(media) = track.media_in(version) else {
            return;
        };
        ctx.command(participant.node, Command::Publish(media.publication.clone()));
        self.pending.demands.insert(id);
        if is_new {
            participant.published = true;
            self.choose_voices(ctx);
        }
        if is_new || is_told_anew {
            self.announce(ctx, key);
        }
        if is_new && version == Version::Primary {
            self.emit_published(ctx, key, id);
            self.offer_to_everybody(ctx, key, id);
        } else {
            self.refresh_subscriptions_to(ctx, key, id, version);
        }
    }

    /// A track is over, or only its second codec.
    pub(in crate::room) fn unpublish(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, track: TrackId) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(removed) = participant.tracks.remove(&track) else {
            return self.lose_backup(ctx, key, track);
        };
        participant.weigh();
        for id in removed.ids() {
            ctx.core.index.tracks.remove(&id);
        }
        self.track_sids.remove(removed.sid());
        for media in removed.all_media() {
            let track = media.publication.track;
            ctx.command(participant.node, Command::Unpublish { track });
        }
        if removed.media.is_some() {
            self.end_subscriptions_to(ctx, track);
            self.choose_voices(ctx);
            self.announce(ctx, key);
            if let Some(participant) = self.participants.get(&key) {
                self.emit_unpublished(ctx, participant, &removed);
            }
        }
    }

    /// A client mutes or unmutes a track of its own.
    pub(in crate::room) fn mute(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: &MuteTrack) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let node = participant.node;
        let Some(track) = participant.track_by_sid_mut(&request.sid) else {
            let text = "no track with this id";
            return self.refuse(
                ctx,
                key,
                RefusalReason::NotFound,
                text,
                Request::MuteTrack(request.clone()),
            );
        };
        if track.info.muted == request.muted {
            return;
        }
        track.mute(request.muted);
        for media in track.all_media() {
            ctx.command(node, Command::Publish(media.publication.clone()));
        }
        if track.media.is_some() {
            self.announce(ctx, key);
        }
    }

    pub(in crate::room) fn update_audio_track(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateAudioTrack,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.track_sid) else {
            let text = "no track with this id";
            return self.refuse(
                ctx,
                key,
                RefusalReason::NotFound,
                text,
                Request::UpdateAudioTrack(request),
            );
        };
        if track.info.audio_features != request.features {
            track.info.audio_features = request.features;
            self.announce(ctx, key);
        }
    }

    pub(in crate::room) fn update_video_track(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateVideoTrack,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.track_sid) else {
            let text = "no track with this id";
            return self.refuse(
                ctx,
                key,
                RefusalReason::NotFound,
                text,
                Request::UpdateVideoTrack(request),
            );
        };
        let size = (request.width, request.height);
        if (track.info.width, track.info.height) != size {
            (track.info.width, track.info.height) = size;
            self.announce(ctx, key);
        }
    }

    /// The sizes of a track's encodings changed, as when a shared window is resized.
    pub(in crate::room) fn update_layers(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: UpdateLayers) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.track_sid) else {
            return;
        };
        let more = layers_len(&request.layers).saturating_sub(layers_len(&track.info.layers));
        if more > 0 && !self.takes(key, 2 * more) {
            let request = Request::UpdateLayers(request);
            return self.refuse(ctx, key, RefusalReason::LimitExceeded, STORE_FULL, request);
        }
        let found = self.participants.get_mut(&key);
        let Some(track) = found.and_then(|participant| participant.track_by_sid_mut(&request.track_sid)) else {
            return;
        };
        track.set_layers(&request.layers);
        let Some(mid) = track.media.as_ref().map(|media| media.mid) else {
            return;
        };
        let id = track.id;
        self.announce(ctx, key);
        self.arrive(ctx, key, mid, id);
    }
}

fn check(participant: &Participant, request: &AddTrack) -> Result<(), (RefusalReason, &'static str)> {
    if !participant.permission.may_publish(request.source) {
        return Err((
            RefusalReason::NotAllowed,
            "the token does not allow publishing this source",
        ));
    }
    if participant.announced() >= PENDING_TRACKS_MAX || participant.tracks.len() >= TRACKS_MAX {
        return Err((RefusalReason::LimitExceeded, "too many tracks"));
    }
    if !request.sid.is_empty() {
        check_backup(participant, request)?;
    }
    Ok(())
}
