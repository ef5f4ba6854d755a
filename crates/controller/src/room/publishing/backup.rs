//! The second codec of a track, for receivers that cannot decode the first.
//!
//! A publisher announces it with the track and does not send it. Once a receiver needs it, the
//! publisher is told that it is wanted, announces it by the track's own id and offers a second
//! media section.

use southbound::{Command, TrackId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::Room;
use crate::subscription::SubscriptionState;
use crate::track::{Version, named_codec};
use crate::{AddTrack, Notification, RefusalReason};

impl Room {
    /// A client announces the second codec of a track. Like a track it is answered at once.
    pub(in crate::room) fn add_backup(&mut self, ctx: &mut Context<'_>, key: ParticipantKey, request: &AddTrack) {
        let Some(participant) = self.participants.get_mut(&key) else {
            return;
        };
        let Some(track) = participant.track_by_sid_mut(&request.sid) else {
            return;
        };
        track.announce_backup(request);
        let track_has_arrived = track.media.is_some();
        let published = Notification::TrackPublished {
            cid: request.cid.clone(),
            track: track.info.clone(),
        };
        participant.notify(ctx, published);
        if track_has_arrived {
            self.announce(ctx, key);
        }
        // Its media section may have come first.
        for (mid, track) in self.claim(key) {
            self.arrive(ctx, key, mid, track);
        }
    }

    /// The second codec is no longer sent. Its receivers begin anew, and wait for it if nothing
    /// else will do.
    pub(in crate::room) fn lose_backup(&mut self, ctx: &mut Context<'_>, publisher: ParticipantKey, name: TrackId) {
        let Some(participant) = self.participants.get_mut(&publisher) else {
            return;
        };
        let found = participant
            .tracks
            .values_mut()
            .find(|track| track.version(name) == Some(Version::Backup));
        let Some((track, backup)) = found.and_then(|track| Some((track.id, track.backup.as_mut()?))) else {
            return;
        };
        backup.cid = None;
        if backup.media.take().is_none() {
            return;
        }
        ctx.command(participant.node, Command::Unpublish { track: name });
        self.pending.demands.insert(track);
        for receiver in self.others(publisher) {
            let subscription = self.participants[&receiver].subscriptions.to(track);
            if let Some((id, SubscriptionState::Active(_, Version::Backup))) =
                subscription.map(|found| (found.id, found.state))
            {
                self.end_subscription(ctx, receiver, id);
                self.reconcile(ctx, receiver, publisher, track);
            }
        }
    }
}

/// Whether a request that names a track of its sender's may be for that track's second codec.
pub(in crate::room) fn check_backup(
    participant: &Participant,
    request: &AddTrack,
) -> Result<(), (RefusalReason, &'static str)> {
    let track = participant
        .track_by_sid(&request.sid)
        .ok_or((RefusalReason::NotFound, "no track with this id"))?;
    let said = request.codecs.first().and_then(|said| named_codec(track.kind, said));
    match &track.backup {
        Some(backup) if said.is_some_and(|codec| codec != backup.codec) => {
            Err((RefusalReason::UnsupportedType, "not the codec that was announced"))
        }
        Some(backup) if backup.media.is_some() => Err((RefusalReason::UnsupportedType, "this codec is there already")),
        Some(_) => Ok(()),
        None => Err((
            RefusalReason::UnsupportedType,
            "the track was announced without a second codec",
        )),
    }
}
