//! The second codec of a track, for receivers that cannot decode the first.
//!
//! A publisher announces it with the track and does not send it. Once a receiver needs it, the
//! publisher is told that it is wanted, announces it by the track's own id and offers a second
//! media section.

use southbound::{Command, TrackId};

use crate::context::Context;
use crate::ids::ParticipantKey;
use crate::participant::Participant;
use crate::room::publishing::Addition;
use crate::room::roster::Roster;
use crate::track::{Version, named_codec};
use crate::{AddTrack, Notification, RefusalReason};

/// A client announces the second codec of a track. Like a track it is answered at once.
pub(in crate::room) fn add_backup(
    ctx: &mut Context<'_>,
    participant: &mut Participant,
    request: &AddTrack,
) -> Option<Addition> {
    let track = participant.publications.by_sid_mut(&request.sid)?;
    track.announce_backup(request);
    let is_news = track.media.is_some();
    let published = Notification::TrackPublished {
        cid: request.cid.clone(),
        track: track.info.clone(),
    };
    participant.notify(ctx, published);
    Some(Addition { is_news })
}

/// The second codec is no longer sent. Returns its track, if it was sent.
pub(in crate::room) fn lose_backup(
    ctx: &mut Context<'_>,
    roster: &mut Roster,
    publisher: ParticipantKey,
    name: TrackId,
) -> Option<TrackId> {
    let participant = roster.get_mut(publisher)?;
    let found = participant
        .publications
        .tracks
        .values_mut()
        .find(|track| track.version(name) == Some(Version::Backup));
    let (track, backup) = found.and_then(|track| Some((track.id, track.backup.as_mut()?)))?;
    backup.cid = None;
    backup.media.take()?;
    ctx.command(participant.media.node, Command::Unpublish { track: name });
    Some(track)
}

/// Whether a request that names a track of its sender's may be for that track's second codec.
pub(in crate::room) fn check_backup(
    participant: &Participant,
    request: &AddTrack,
) -> Result<(), (RefusalReason, &'static str)> {
    let track = participant
        .publications
        .by_sid(&request.sid)
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
