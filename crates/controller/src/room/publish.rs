//! Tracks on their way in: announced by `add_track`, found in an offer, in whichever order the two come.

use livekit_protocol::request_response::{Reason, Request};
use livekit_protocol::signal_response::Message;
use livekit_protocol::{
    AddTrackRequest, MuteTrackRequest, TrackPublishedResponse, UpdateLocalAudioTrack, UpdateLocalVideoTrack,
    UpdateVideoLayers,
};
use southbound::{Command, TrackId};
use wire::Mid;

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::{CODECS_MAX, LAYERS_MAX, PENDING_TRACKS_MAX, TEXT_MAX, TRACKS_MAX};
use crate::negotiation::{Uplink, Usage};
use crate::participant::Participant;
use crate::track::{Track, kind_of};

impl Room {
    /// A client announces a track. It is answered at once, before any media.
    pub(super) fn add_track(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: AddTrackRequest) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        if let Err((reason, text)) = check(participant, &request) {
            return self.refuse(ctx, key, 0, reason, text, Request::AddTrack(request));
        }
        let Some(kind) = kind_of(&request) else {
            return self.refuse(
                ctx,
                key,
                0,
                Reason::UnsupportedType,
                "not an audio or video track",
                Request::AddTrack(request),
            );
        };
        let id = ctx.core.ids.track();
        let track = Track::announced(id, kind, &request, &mut ctx.core.random);
        let published = TrackPublishedResponse {
            cid: request.cid,
            track: Some(track.info.clone()),
        };
        participant.send(ctx, Message::TrackPublished(published));
        self.track_sids.insert(track.sid().to_owned(), (key, id));
        participant.tracks.insert(id, track);
        let place = self.place(key);
        ctx.core.index.tracks.insert(id, place);
        // Its media section may have come first.
        for (mid, track) in self.claim(key) {
            self.arrive(ctx, key, mid, track);
        }
    }

    /// Finds the announced tracks that sections without one carry: by the client's id for the track, else, since some browsers
    /// change ids, the first of the same kind.
    pub(super) fn claim(&mut self, key: ParticipantKey) -> Vec<(Mid, TrackId)> {
        let Some(participant) = self.participants.get_mut(&key) else {
            return Vec::new();
        };
        let Some(peer) = participant.publisher.as_mut() else {
            return Vec::new();
        };
        let mut claimed: Vec<(Mid, TrackId)> = Vec::new();
        for by_id in [true, false] {
            for slot in peer.slots.iter_mut().filter(|slot| slot.usage == Usage::Unclaimed) {
                let msids = slot.theirs.iter().flat_map(|section| &section.msids);
                let ids: Vec<_> = msids.filter_map(|msid| msid.track.as_deref()).collect();
                let mut waiting = participant
                    .tracks
                    .values()
                    .filter(|track| track.arrival.is_none() && !claimed.iter().any(|(_, taken)| *taken == track.id));
                let found = waiting.find(|track| {
                    Some(track.kind) == slot.media_kind() && (!by_id || ids.iter().any(|id| track.is_called(id)))
                });
                if let Some(track) = found {
                    claimed.push((slot.mid, track.id));
                    slot.usage = Usage::Up(Uplink {
                        track: track.id,
                        audio: track.audio_wish(),
                        codec: track.codec(),
                    });
                }
            }
        }
        claimed
    }

    /// A track has its media section: the agent may expect it and everybody may have it.
    pub(super) fn arrive(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, mid: Mid, track: TrackId) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(peer) = participant.publisher.as_ref() else {
            return;
        };
        let (Some(slot), Some(track)) = (peer.slot(mid), participant.tracks.get_mut(&track)) else {
            return;
        };
        if slot.is_refused() {
            return;
        }
        let before = track.arrival.take();
        track.arrive(peer.transport, slot);
        let Some(arrival) = &track.arrival else { return };
        let (id, is_new) = (track.id, before.is_none());
        if before.is_some_and(|before| before.publication == arrival.publication && before.formats == arrival.formats) {
            return;
        }
        ctx.command(Command::Publish(arrival.publication.clone()));
        self.demanded.insert(id);
        if is_new {
            participant.published = true;
            self.choose_voices(ctx);
            self.announce(ctx, key);
            self.offer_to_everybody(ctx, key, id);
        } else {
            self.refresh_subscriptions_to(ctx, key, id);
        }
    }

    /// A track is over.
    pub(super) fn unpublish(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, track: TrackId) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(removed) = participant.tracks.remove(&track) else {
            return;
        };
        ctx.core.index.tracks.remove(&track);
        self.track_sids.remove(removed.sid());
        if removed.arrival.is_some() {
            ctx.command(Command::Unpublish { track });
            self.end_subscriptions_to(ctx, track);
            self.choose_voices(ctx);
            self.announce(ctx, key);
        }
    }

    /// A client mutes or unmutes a track of its own.
    pub(super) fn mute(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: &MuteTrackRequest) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.sid) else {
            let text = "no track with this id";
            return self.refuse(ctx, key, 0, Reason::NotFound, text, Request::Mute(request.clone()));
        };
        if track.info.muted == request.muted {
            return;
        }
        track.info.muted = request.muted;
        if let Some(arrival) = &mut track.arrival {
            arrival.publication.muted = request.muted;
            ctx.command(Command::Publish(arrival.publication.clone()));
            self.announce(ctx, key);
        }
    }

    /// The server mutes or unmutes a participant's track: the client is told, and does it.
    pub(crate) fn mute_by_server(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        sid: &str,
        muted: bool,
    ) -> bool {
        let request = MuteTrackRequest {
            sid: sid.to_owned(),
            muted,
        };
        let Some(participant) = self
            .participants
            .get(&key)
            .filter(|found| found.track_by_sid(sid).is_some())
        else {
            return false;
        };
        participant.send(ctx, Message::Mute(request.clone()));
        self.mute(ctx, key, &request);
        true
    }

    pub(super) fn update_audio_track(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateLocalAudioTrack,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.track_sid) else {
            let text = "no track with this id";
            return self.refuse(ctx, key, 0, Reason::NotFound, text, Request::UpdateAudioTrack(request));
        };
        track.info.audio_features = request.features;
        track.info.audio_features.truncate(16);
        self.announce(ctx, key);
    }

    pub(super) fn update_video_track(
        &mut self,
        ctx: &mut Context<'_>,
        key: ParticipantKey,
        request: UpdateLocalVideoTrack,
    ) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.track_sid) else {
            let text = "no track with this id";
            return self.refuse(ctx, key, 0, Reason::NotFound, text, Request::UpdateVideoTrack(request));
        };
        (track.info.width, track.info.height) = (request.width, request.height);
        self.announce(ctx, key);
    }

    /// The sizes of a track's encodings changed, as when a shared window is resized.
    pub(super) fn update_layers(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: UpdateVideoLayers) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.track_sid) else {
            return;
        };
        track.info.layers = request.layers;
        track.info.layers.truncate(LAYERS_MAX);
        if let Some(codec) = track.info.codecs.first_mut() {
            codec.layers.clone_from(&track.info.layers);
        }
        let Some(mid) = track.arrival.as_ref().map(|arrival| arrival.mid) else {
            return;
        };
        let id = track.id;
        self.arrive(ctx, key, mid, id);
    }
}

fn check(participant: &Participant, request: &AddTrackRequest) -> Result<(), (Reason, &'static str)> {
    if !request.sid.is_empty() {
        // A backup codec is only asked for by us, and we do not.
        return Err(match participant.track_by_sid(&request.sid) {
            Some(_) => (Reason::UnsupportedType, "backup codecs are not taken"),
            None => (Reason::NotFound, "no track with this id"),
        });
    }
    if !participant.permission.may_publish(request.source()) {
        return Err((Reason::NotAllowed, "the token does not allow publishing this source"));
    }
    let texts = [&request.cid, &request.name, &request.stream];
    if texts.iter().any(|text| text.len() > TEXT_MAX)
        || request.layers.len() > LAYERS_MAX
        || request.simulcast_codecs.len() > CODECS_MAX
    {
        return Err((
            Reason::LimitExceeded,
            "a name is too long or a list has too many entries",
        ));
    }
    if participant.announced() >= PENDING_TRACKS_MAX || participant.tracks.len() >= TRACKS_MAX {
        return Err((Reason::LimitExceeded, "too many tracks"));
    }
    Ok(())
}
