//! The permissions of publishers for their data tracks.

use crate::Notification;
use crate::context::Context;
use crate::participant::Participant;
use crate::room::data::DataTracks;
use crate::room::roster::Roster;

impl DataTracks {
    /// Whether the publisher of a data track lets a participant have it.
    pub(super) fn permission(&self, roster: &Roster, participant: &Participant, handle: u16) -> Option<bool> {
        let track = self.tracks.get(&handle)?;
        let publisher = roster.get(track.publisher)?;
        Some(publisher.admits(participant, &track.sid))
    }

    /// Tells a participant whether it may have a data track that it wants.
    pub(super) fn send_permission(
        &self,
        ctx: &mut Context<'_>,
        roster: &Roster,
        participant: &Participant,
        handle: u16,
    ) {
        let track = self.tracks.get(&handle);
        let publisher = track.and_then(|track| roster.get(track.publisher));
        let allowed = self.permission(roster, participant, handle);
        let wanted = participant.data.tracks.wanted().contains(&handle);
        if let (Some(track), Some(publisher), Some(allowed), true) = (track, publisher, allowed, wanted) {
            let permission = Notification::TrackPermission {
                participant_sid: publisher.profile.sid.clone(),
                track_sid: track.sid.clone(),
                allowed,
            };
            participant.notify(ctx, permission);
        }
    }
}
