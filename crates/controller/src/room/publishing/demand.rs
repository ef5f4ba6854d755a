//! The demand for a track: its publisher need not send the rest ("dynacast").
//!
//! A publisher hears at once when more is wanted, and only after a while when less is: people who
//! scroll or resize come back. The demand is the best quality any receiver asked for, and
//! everything below it, to which receivers may have to fall.

use southbound::TrackId;
use wire::MediaKind;

use crate::context::{Context, Timer};
use crate::demand::{Demand, LastSent};
use crate::ids::ParticipantKey;
use crate::limits::DEMAND_FALLS_AFTER;
use crate::room::Room;
use crate::track::Track;
use crate::{CodecDemand, Notification, TrackDemand, VideoQuality};

impl Room {
    /// Tells the publisher of a track what of it is wanted, when that has changed.
    pub(in crate::room) fn tell_demand(&mut self, ctx: &mut Context<'_>, track: TrackId) {
        let Some(participant_ref) = ctx.core.index.tracks.get(&track).copied() else {
            return;
        };
        let Some(wanted) = self.demand_for(participant_ref.participant, track) else {
            return;
        };
        let Some(publisher) = self.participants.get_mut(&participant_ref.participant) else {
            return;
        };
        let Some(published) = publisher.tracks.get_mut(&track) else {
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

    /// A participant's demands that may fall by now are looked at again.
    pub(in crate::room) fn review_demands(&mut self, publisher: ParticipantKey) {
        if let Some(participant) = self.participants.get(&publisher) {
            let falling = participant
                .tracks
                .values()
                .filter(|track| track.demand.falls_at.is_some());
            self.pending.demands.extend(falling.map(|track| track.id));
        }
    }

    /// The demand for a track; `None` for tracks without a choice.
    fn demand_for(&self, publisher: ParticipantKey, id: TrackId) -> Option<Demand> {
        let track = self.participants.get(&publisher)?.tracks.get(&id)?;
        let has_choice = track.kind == MediaKind::Video || track.backup.is_some();
        if !has_choice || track.media.is_none() {
            return None;
        }
        let mut demand = Demand::default();
        let receivers = self.participants.values();
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
