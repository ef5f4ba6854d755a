//! Requests for the tracks that a participant shows, as a page with adaptive streams sends them.

use livekit_protocol::{ParticipantInfo, TrackInfo, UpdateTrackSettings, signal_request};

use super::Participant;
use crate::client::plan::Plan;

/// The size at which a light client shows a camera: one of a row of small videos.
const SHOWN: (u32, u32) = (320, 180);

impl Participant {
    /// Tells the server of each new camera whether it is shown, and how large.
    pub(super) fn settle_tracks(&mut self, participants: &[ParticipantInfo]) {
        if self.plan.disables.is_empty() {
            return;
        }
        for track in participants.iter().flat_map(|participant| &participant.tracks) {
            let Some(source) = source_of(track).filter(|&source| !Plan::is_audio(source)) else {
                continue;
            };
            if self.settled.contains(&source) || source == self.plan.video_source() {
                continue;
            }
            self.settled.push(source);
            let disabled = self.plan.disables.contains(&source);
            let (width, height) = if disabled { (0, 0) } else { SHOWN };
            let settings = UpdateTrackSettings {
                track_sids: vec![track.sid.clone()],
                disabled,
                width,
                height,
                ..Default::default()
            };
            self.signal.send(signal_request::Message::TrackSetting(settings));
        }
    }
}

/// The source of a track of this run.
fn source_of(track: &TrackInfo) -> Option<u32> {
    track.name.strip_prefix("bench-track-")?.strip_suffix('-')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::negotiation::track_id;
    use super::*;

    #[test]
    fn a_track_is_known_by_its_name() {
        let named = |name: String| TrackInfo {
            name,
            ..Default::default()
        };
        assert_eq!(source_of(&named(track_id(14))), Some(14));
        assert_eq!(source_of(&named("camera".into())), None);
    }
}
