//! Tracks on their way in: announced by `add_track`, found in an offer, in whichever order the two
//! come.

use operator::Observation;
use southbound::{Command, TrackId};
use wire::Mid;

use super::backup::{add_backup, check_backup};
use super::matching;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::info::layers_len;
use crate::limits::{PENDING_TRACKS_MAX, TRACKS_MAX};
use crate::negotiation::{Section, Up};
use crate::participant::Participant;
use crate::room::publishing::{Addition, Publications};
use crate::room::roster::{Roster, STORE_FULL};
use crate::room::timeline;
use crate::track::{Track, Version};
use crate::{
    AddTrack, MuteTrack, Notification, RefusalReason, Request, UpdateAudioTrack, UpdateLayers, UpdateVideoTrack,
};

/// A track that has its media section, in one of its codecs.
pub(in crate::room) struct Arrival {
    pub(in crate::room) track: TrackId,
    pub(in crate::room) version: Version,
    /// It had none in this codec.
    pub(in crate::room) is_new: bool,
    /// Others are told of it in other words than before.
    pub(in crate::room) is_told_anew: bool,
}

impl Publications {
    /// A client announces a track. It is answered at once, before any media. Returns `None` when
    /// nothing was added.
    pub(in crate::room) fn add(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        request: AddTrack,
    ) -> Option<Addition> {
        let participant = roster.get_mut(key)?;
        if let Err((reason, text)) = check(participant, &request) {
            roster.refuse(ctx, key, reason, text, Request::AddTrack(request));
            return None;
        }
        let Some(kind) = request.kind else {
            roster.refuse(
                ctx,
                key,
                RefusalReason::UnsupportedType,
                "not an audio or video track",
                Request::AddTrack(request),
            );
            return None;
        };
        if !request.sid.is_empty() {
            return add_backup(ctx, participant, &request);
        }
        if let Some(known) = matching::announced_before(participant, kind, &request.cid) {
            let published = Notification::TrackPublished {
                cid: request.cid,
                track: known.info.clone(),
            };
            participant.notify(ctx, published);
            return None;
        }
        let track = Track::announced(
            kind,
            &request,
            participant.client.traits.disabled_codecs,
            &mut ctx.core.ids,
            &mut ctx.core.random,
        );
        if !roster.takes(key, track.info.told_len()) {
            let request = Request::AddTrack(request);
            roster.refuse(ctx, key, RefusalReason::LimitExceeded, STORE_FULL, request);
            return None;
        }
        let participant = roster.get_mut(key)?;
        let id = track.id;
        let published = Notification::TrackPublished {
            cid: request.cid,
            track: track.info.clone(),
        };
        participant.notify(ctx, published);
        self.insert(track.sid(), key, id);
        let ids = track.ids();
        participant.publications.tracks.insert(id, track);
        participant.weigh();
        let participant_ref = roster.participant_ref(key);
        ctx.core.index.tracks.extend(ids.map(|id| (id, participant_ref)));
        Some(Addition { is_news: false })
    }

    /// A track is over. Returns it; `None` for the name of a second codec.
    pub(in crate::room) fn end(
        &mut self,
        ctx: &mut Context<'_>,
        roster: &mut Roster,
        key: ParticipantKey,
        track: TrackId,
    ) -> Option<Track> {
        let participant = roster.get_mut(key)?;
        let removed = participant.publications.tracks.remove(&track)?;
        participant.weigh();
        for id in removed.ids() {
            ctx.core.index.tracks.remove(&id);
        }
        self.remove(removed.sid());
        timeline::observe_own(ctx, participant, &removed, Observation::Unpublish);
        for media in removed.all_media() {
            let track = media.publication.track;
            ctx.command(participant.media.node, Command::Unpublish { track });
        }
        Some(removed)
    }
}

/// Finds the announced tracks that sections without one carry: by the client's id for the
/// track, else by kind, since some browsers change ids.
pub(in crate::room) fn claim(roster: &mut Roster, key: ParticipantKey) -> Vec<(Mid, TrackId)> {
    let Some(participant) = roster.get_mut(key) else {
        return Vec::new();
    };
    let Some(peer) = participant.media.publisher.as_mut() else {
        return Vec::new();
    };
    let claims = matching::claims(&peer.sections, &participant.publications.tracks);
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
pub(in crate::room) fn arrive(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    mid: Mid,
    name: TrackId,
) -> Option<Arrival> {
    let participant = roster.get_mut(key)?;
    let peer = participant.media.publisher.as_ref()?;
    let mut tracks = participant.publications.tracks.values_mut();
    let track = tracks.find_map(|track| track.version(name).map(|version| (track, version)));
    let (Some(section), Some((track, version))) = (peer.section(mid), track) else {
        return None;
    };
    if section.is_refused() {
        return None;
    }
    let (id, is_new) = (track.id, track.media_in(version).is_none());
    let told = track.info.clone();
    if !track.arrive(version, peer.transport, section) {
        return None;
    }
    let is_told_anew = track.info != told;
    let media = track.media_in(version)?;
    ctx.command(participant.media.node, Command::Publish(media.publication.clone()));
    participant.publications.has_published |= is_new;
    if is_new && let Some(track) = participant.publications.tracks.get(&id) {
        timeline::observe_own(ctx, participant, track, Observation::Publish);
    }
    Some(Arrival {
        track: id,
        version,
        is_new,
        is_told_anew,
    })
}

/// A client mutes or unmutes a track of its own. Returns whether others are to hear of it.
pub(in crate::room) fn mute(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    request: &MuteTrack,
) -> bool {
    let Some(participant) = roster.get_mut(key) else {
        return false;
    };
    let node = participant.media.node;
    let Some(track) = participant.publications.by_sid_mut(&request.sid) else {
        refuse_unknown_track(ctx, roster, key, Request::MuteTrack(request.clone()));
        return false;
    };
    if track.info.muted == request.muted {
        return false;
    }
    track.mute(request.muted);
    for media in track.all_media() {
        ctx.command(node, Command::Publish(media.publication.clone()));
    }
    let (id, is_told) = (track.id, track.media.is_some());
    if let Some(track) = participant.publications.tracks.get(&id) {
        let muted = request.muted;
        timeline::observe_own(ctx, participant, track, Observation::Mute { muted });
    }
    is_told
}

fn refuse_unknown_track(ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey, request: Request) {
    roster.refuse(ctx, key, RefusalReason::NotFound, "no track with this id", request);
}

/// Takes what a client says of a sound of its own. Returns whether others are to hear of it.
pub(in crate::room) fn update_audio(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    request: UpdateAudioTrack,
) -> bool {
    let Some(participant) = roster.get_mut(key) else {
        return false;
    };
    let Some(track) = participant.publications.by_sid_mut(&request.track_sid) else {
        refuse_unknown_track(ctx, roster, key, Request::UpdateAudioTrack(request));
        return false;
    };
    let is_new = track.info.audio_features != request.features;
    track.info.audio_features = request.features;
    is_new
}

/// Takes the size of a picture of a client. Returns whether others are to hear of it.
pub(in crate::room) fn update_video(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    request: UpdateVideoTrack,
) -> bool {
    let Some(participant) = roster.get_mut(key) else {
        return false;
    };
    let Some(track) = participant.publications.by_sid_mut(&request.track_sid) else {
        refuse_unknown_track(ctx, roster, key, Request::UpdateVideoTrack(request));
        return false;
    };
    let size = (request.width, request.height);
    let is_new = (track.info.width, track.info.height) != size;
    (track.info.width, track.info.height) = size;
    is_new
}

/// The sizes of a track's encodings changed, as when a shared window is resized. Returns the
/// media section of one that has arrived.
pub(in crate::room) fn update_layers(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    key: ParticipantKey,
    request: UpdateLayers,
) -> Option<(Mid, TrackId)> {
    let participant = roster.get_mut(key)?;
    let track = participant.publications.by_sid_mut(&request.track_sid)?;
    let more = layers_len(&request.layers).saturating_sub(layers_len(&track.info.layers));
    if more > 0 && !roster.takes(key, 2 * more) {
        let request = Request::UpdateLayers(request);
        roster.refuse(ctx, key, RefusalReason::LimitExceeded, STORE_FULL, request);
        return None;
    }
    let found = roster.get_mut(key);
    let track = found.and_then(|participant| participant.publications.by_sid_mut(&request.track_sid))?;
    track.set_layers(&request.layers);
    let mid = track.media.as_ref().map(|media| media.mid)?;
    Some((mid, track.id))
}

fn check(participant: &Participant, request: &AddTrack) -> Result<(), (RefusalReason, &'static str)> {
    if !participant.authorization.permission.may_publish(request.source) {
        return Err((
            RefusalReason::NotAllowed,
            "the token does not allow publishing this source",
        ));
    }
    if participant.publications.announced() >= PENDING_TRACKS_MAX || participant.publications.tracks.len() >= TRACKS_MAX
    {
        return Err((RefusalReason::LimitExceeded, "too many tracks"));
    }
    if !request.sid.is_empty() {
        check_backup(participant, request)?;
    }
    Ok(())
}
