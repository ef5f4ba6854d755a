//! Consequences of who speaks: which voices are sent at all, and whose video matters most.

use std::collections::BTreeMap;

use access::TrackSource;
use southbound::{AudioActivity, Command, TrackId};
use wire::MediaKind;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::Room;
use crate::room::speaking::levels::Speaker;
use crate::track::Track;

impl Room {
    /// Remembers how loud every microphone was in the last interval.
    pub(in crate::room) fn hear_voices(&mut self, heard: &[(ParticipantKey, AudioActivity)]) {
        if let Some(voices) = &mut self.speaking.voices {
            let levels = heard.iter().map(|(_, activity)| (activity.track, activity.level));
            voices.hear(levels.collect());
        }
    }

    /// Has the voices sent that a large room hears, and no others. In a small one all are.
    pub(in crate::room) fn choose_voices(&mut self, ctx: &mut Context<'_>) {
        let Some(voices) = &mut self.speaking.voices else {
            return;
        };
        let tracks = self
            .participants
            .values()
            .flat_map(|participant| participant.tracks.values());
        let microphones: Vec<_> = tracks.filter(|track| is_voice(track)).map(|track| track.id).collect();
        for (track, held) in voices.choose(ctx.now, &microphones) {
            let forwarding = !held;
            self.command_about(ctx, track, Command::SetForwarding { track, forwarding });
        }
    }

    /// Tells the agent whose pictures go with the loudest voices, when that has changed.
    pub(in crate::room) fn rank_speakers(&mut self, ctx: &mut Context<'_>) {
        let speaking: Vec<Speaker> = self.speaking.speakers.speaking().collect();
        self.speaking.order.update(ctx.now, &speaking);
        let mut places: BTreeMap<TrackId, u8> = BTreeMap::new();
        for (place, key) in (0..).zip(self.speaking.order.places()) {
            let tracks = self
                .participants
                .get(key)
                .into_iter()
                .flat_map(|participant| participant.tracks.values());
            let pictures = tracks
                .filter(|track| is_face(track))
                .flat_map(|track| track.all_media());
            places.extend(pictures.map(|media| (media.publication.track, place)));
        }
        let before = std::mem::replace(&mut self.speaking.ranks, places);
        for (track, place) in &self.speaking.ranks {
            if before.get(track) != Some(place) {
                let rank = Some(*place);
                self.command_about(ctx, *track, Command::SetSpeakerRank { track: *track, rank });
            }
        }
        for track in before
            .into_keys()
            .filter(|track| !self.speaking.ranks.contains_key(track))
        {
            self.command_about(ctx, track, Command::SetSpeakerRank { track, rank: None });
        }
    }
}

/// The sound of a screen is never held back: nobody is heard less for it.
fn is_voice(track: &Track) -> bool {
    track.kind == MediaKind::Audio && track.media.is_some() && track.info.source != TrackSource::ScreenShareAudio
}

/// A shared screen has no rank: the allocator prefers it to cameras.
fn is_face(track: &Track) -> bool {
    track.kind == MediaKind::Video && track.media.is_some() && track.info.source != TrackSource::ScreenShare
}
