//! The demand for a track: its publisher need not send the rest ("dynacast").
//!
//! A publisher hears at once when more is wanted, and only after a while when less is: people who
//! scroll or resize come back. The demand is the best quality any receiver asked for, and
//! everything below it, to which receivers may have to fall.

use southbound::TrackId;
use wire::MediaKind;

use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::DEMAND_FALLS_AFTER;
use crate::room::roster::Roster;
use crate::track::Track;
use crate::track::demand::{Demand, LastSent};
use crate::{CodecDemand, Notification, TrackDemand, VideoQuality};

/// Tells the publisher of a track what of it is wanted, when that has changed.
pub(in crate::room) fn tell_demand(ctx: &mut Context<'_>, roster: &mut Roster, track: TrackId) {
    let Some(participant_ref) = ctx.core.index.tracks.get(&track).copied() else {
        return;
    };
    let Some(wanted) = demand_for(roster, participant_ref.participant, track) else {
        return;
    };
    let Some(publisher) = roster.get_mut(participant_ref.participant) else {
        return;
    };
    let Some(published) = publisher.publications.tracks.get_mut(&track) else {
        return;
    };
    let LastSent { demand: told, falls_at } = published.demand;
    let may_fall = falls_at.is_some_and(|at| at <= ctx.now);
    let now = if may_fall { wanted } else { wanted.or_more(told) };
    published.demand = LastSent {
        demand: now,
        falls_at: (now != wanted)
            .then(|| falls_at.unwrap_or_else(|| ctx.wake(DEMAND_FALLS_AFTER, Timer::Participant(participant_ref)))),
    };
    if now != told {
        let demand = track_demand(published);
        publisher.notify(ctx, Notification::TrackDemand(demand));
    }
}

/// The tracks of a participant of which less may be wanted by now.
pub(in crate::room) fn falling_demands(roster: &Roster, publisher: ParticipantKey) -> Vec<TrackId> {
    let tracks = roster
        .get(publisher)
        .into_iter()
        .flat_map(|found| found.publications.tracks.values());
    let falling = tracks.filter(|track| track.demand.falls_at.is_some());
    falling.map(|track| track.id).collect()
}

/// The demand for a track; `None` for tracks without a choice.
fn demand_for(roster: &Roster, publisher: ParticipantKey, id: TrackId) -> Option<Demand> {
    let track = roster.get(publisher)?.publications.tracks.get(&id)?;
    let has_choice = track.kind == MediaKind::Video || track.backup.is_some();
    if !has_choice || track.media.is_none() {
        return None;
    }
    let mut demand = Demand::default();
    let receivers = roster.all();
    for subscription in receivers.filter_map(|receiver| receiver.subscriptions.to(id)) {
        let version = subscription.version();
        let quality = match track.media_in(version) {
            Some(media) => {
                let wanted = subscription.settings.wanted(media);
                wanted.enabled.then(|| media.quality_of_encoding(wanted.encoding_max))
            }
            None => subscription.settings.is_enabled().then_some(VideoQuality::High),
        };
        if let Some(quality) = quality {
            demand.add(version, quality);
        }
    }
    Some(demand)
}

fn track_demand(track: &Track) -> TrackDemand {
    let Demand { primary, backup } = track.demand.demand;
    let first = CodecDemand {
        codec: track.codec(),
        wanted: primary,
    };
    let second = track.backup.as_ref().map(|known| CodecDemand {
        codec: Some(known.codec),
        wanted: backup,
    });
    TrackDemand {
        track_sid: track.sid().to_owned(),
        kind: track.kind,
        codecs: std::iter::once(first).chain(second).collect(),
    }
}
