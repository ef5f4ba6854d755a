//! Consequences of who speaks: which voices are sent at all, and whose video matters most.

use std::collections::BTreeMap;

use access::TrackSource;
use southbound::{AudioActivity, Command, NodeId, TrackId};
use wire::MediaKind;

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::room::roster::Roster;
use crate::room::speaking::Speaking;
use crate::room::speaking::levels::Speaker;
use crate::track::Track;

impl Speaking {
    /// Remembers how loud every microphone was in the last interval.
    pub(in crate::room) fn hear_voices(&mut self, heard: &[(ParticipantKey, AudioActivity)]) {
        if let Some(voices) = &mut self.voices {
            let levels = heard.iter().map(|(_, activity)| (activity.track, activity.level));
            voices.hear(levels.collect());
        }
    }

    /// Has the voices sent that a large room hears, and no others. In a small one all are.
    pub(in crate::room) fn choose_voices(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        let Some(voices) = &mut self.voices else {
            return;
        };
        let tracks = roster
            .all()
            .flat_map(|participant| participant.publications.tracks.values());
        let microphones: Vec<_> = tracks.filter(|track| is_voice(track)).map(|track| track.id).collect();
        for (track, held) in voices.choose(ctx.now, &microphones) {
            let forwarding = !held;
            roster.command_about(ctx, track, Command::SetForwarding { track, forwarding });
        }
    }

    /// Has everybody sent and ranks nobody, in a room that another controller served: it is not
    /// known what that one told the node.
    pub(in crate::room) fn begin_anew(&self, ctx: &mut Context<'_>, roster: &Roster) {
        let tracks = roster
            .all()
            .flat_map(|participant| participant.publications.tracks.values());
        for track in tracks {
            if self.voices.is_some() && is_voice(track) {
                let (track, forwarding) = (track.id, true);
                roster.command_about(ctx, track, Command::SetForwarding { track, forwarding });
            }
            for media in track.all_media().filter(|_| is_face(track)) {
                let track = media.publication.track;
                roster.command_all(ctx, &Command::SetSpeakerRank { track, rank: None });
            }
        }
    }

    /// Holds the voices of a participant back at the node that it has moved to, as at the one that
    /// it has left. That one forwards whatever it gets from now on.
    pub(in crate::room) fn moved(&self, ctx: &mut Context<'_>, roster: &Roster, key: ParticipantKey, left: NodeId) {
        let Some((voices, participant)) = self.voices.as_ref().zip(roster.get(key)) else {
            return;
        };
        let tracks = participant.publications.tracks.values();
        let held = tracks.filter(|track| is_voice(track) && voices.holds(track.id));
        for track in held.map(|track| track.id) {
            for (node, forwarding) in [(left, true), (participant.media.node, false)] {
                ctx.command(node, Command::SetForwarding { track, forwarding });
            }
        }
    }

    /// Tells the agent whose pictures go with the loudest voices, when that has changed.
    pub(in crate::room) fn rank_speakers(&mut self, ctx: &mut Context<'_>, roster: &Roster) {
        let speaking: Vec<Speaker> = self.speakers.speaking().collect();
        self.order.update(ctx.now, &speaking);
        let mut places: BTreeMap<TrackId, u8> = BTreeMap::new();
        for (place, key) in (0..).zip(self.order.places()) {
            let tracks = roster
                .get(*key)
                .into_iter()
                .flat_map(|participant| participant.publications.tracks.values());
            let pictures = tracks
                .filter(|track| is_face(track))
                .flat_map(|track| track.all_media());
            places.extend(pictures.map(|media| (media.publication.track, place)));
        }
        let before = std::mem::replace(&mut self.ranks, places);
        for (track, place) in &self.ranks {
            if before.get(track) != Some(place) {
                let rank = Some(*place);
                roster.command_all(ctx, &Command::SetSpeakerRank { track: *track, rank });
            }
        }
        for track in before.into_keys().filter(|track| !self.ranks.contains_key(track)) {
            roster.command_all(ctx, &Command::SetSpeakerRank { track, rank: None });
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
