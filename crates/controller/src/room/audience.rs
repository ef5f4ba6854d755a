//! Publishers deciding who may have their tracks.

use livekit_protocol::signal_response::Message;
use livekit_protocol::{SubscriptionPermission, SubscriptionPermissionUpdate};

use super::Room;
use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::limits::PERMISSIONS_MAX;
use crate::participant::Audience;

impl Room {
    /// A publisher says who may have its tracks.
    pub(super) fn update_audience(
        &mut self,
        ctx: &mut Context<'_>,
        publisher: ParticipantKey,
        request: SubscriptionPermission,
    ) {
        let audience = if request.all_participants {
            Audience::Everybody
        } else {
            let entries = request.track_permissions.into_iter().take(PERMISSIONS_MAX);
            let named = entries.filter_map(|entry| {
                let identity = match self.by_sid(&entry.participant_sid) {
                    Some(key) => self.participants[&key].identity.clone(),
                    None => entry.participant_identity,
                };
                let tracks = (!entry.all_tracks).then_some(entry.track_sids);
                (!identity.is_empty()).then_some((identity, tracks))
            });
            Audience::Only(named.collect())
        };
        let Some(participant) = self.participants.get_mut(&publisher) else {
            return;
        };
        let before = std::mem::replace(&mut participant.audience, audience);
        let after = participant.audience.clone();
        let participant_sid = participant.sid.clone();
        let tracks: Vec<_> = participant
            .tracks
            .values()
            .map(|track| (track.id, track.sid().to_owned()))
            .collect();
        for receiver in self.others(publisher) {
            for (track, track_sid) in &tracks {
                let to = &self.participants[&receiver];
                let (was, allowed) = (
                    before.admits(&to.identity, track_sid),
                    after.admits(&to.identity, track_sid),
                );
                if was != allowed {
                    let (participant_sid, track_sid) = (participant_sid.clone(), track_sid.clone());
                    let update = SubscriptionPermissionUpdate {
                        participant_sid,
                        track_sid,
                        allowed,
                    };
                    to.send(ctx, Message::SubscriptionPermissionUpdate(update));
                    self.reconcile(ctx, receiver, publisher, *track);
                }
            }
        }
    }
}
