//! What of a track anybody wants: its publisher need not send the rest ("dynacast").
//!
//! A publisher hears at once when more is wanted, and only after a while when less is: people who scroll or resize come back.
//! What is wanted is the best any receiver asked for, and everything below it, to which receivers may have to fall.

use livekit_protocol::signal_response::Message;
use livekit_protocol::{SubscribedCodec, SubscribedQuality, SubscribedQualityUpdate, VideoQuality};
use southbound::TrackId;
use wire::MediaKind;

use super::Room;
use crate::context::{Context, Timer};
use crate::ids::ParticipantKey;
use crate::limits::DEMAND_FALLS_AFTER;
use crate::track::{Demand, Track};

impl Room {
    /// Tells the publisher of a track what of it is wanted, when that has changed.
    pub(super) fn tell_demand(&mut self, ctx: &mut Context<'_>, track: TrackId) {
        let Some(place) = ctx.core.index.tracks.get(&track).copied() else {
            return;
        };
        let Some(wanted) = self.demand_for(place.participant, track) else {
            return;
        };
        let Some(publisher) = self.participants.get_mut(&place.participant) else {
            return;
        };
        let Some(published) = publisher.tracks.get_mut(&track) else {
            return;
        };
        let is_less = wanted < published.demand.told;
        if is_less && published.demand.falls_at.is_none_or(|at| at > ctx.now) {
            let wake = || ctx.wake(DEMAND_FALLS_AFTER, Timer::Participant(place));
            published.demand.falls_at.get_or_insert_with(wake);
            return;
        }
        published.demand.falls_at = None;
        if wanted != published.demand.told {
            published.demand.told = wanted;
            let update = update(published);
            publisher.send(ctx, Message::SubscribedQualityUpdate(update));
        }
    }

    /// A participant's demands that may fall by now are looked at again.
    pub(super) fn review_demands(&mut self, publisher: ParticipantKey) {
        if let Some(participant) = self.participants.get(&publisher) {
            let falling = participant
                .tracks
                .values()
                .filter(|track| track.demand.falls_at.is_some());
            self.demanded.extend(falling.map(|track| track.id));
        }
    }

    /// The best quality of a video anybody wants, `Some(None)` when nobody wants any; `None` for what there is no choice in.
    fn demand_for(&self, publisher: ParticipantKey, id: TrackId) -> Option<Option<VideoQuality>> {
        let track = self.participants.get(&publisher)?.tracks.get(&id)?;
        if track.kind != MediaKind::Video || track.arrival.is_none() {
            return None;
        }
        let subscriptions = self
            .participants
            .values()
            .filter_map(|receiver| receiver.subscriptions.to(id));
        let wanted = subscriptions.map(|subscription| subscription.settings.wanted(track));
        let enabled = wanted.filter(|wanted| wanted.enabled);
        Some(
            enabled
                .map(|wanted| track.quality_of_encoding(wanted.encoding_max))
                .max(),
        )
    }
}

fn update(track: &Track) -> SubscribedQualityUpdate {
    let Demand { told: wanted, .. } = track.demand;
    let levels = [VideoQuality::Low, VideoQuality::Medium, VideoQuality::High];
    let qualities = levels.map(|quality| SubscribedQuality {
        quality: quality.into(),
        enabled: wanted.is_some_and(|wanted| quality <= wanted),
    });
    let codec = track.codec().map(|codec| codec.to_string().to_ascii_lowercase());
    #[allow(deprecated, reason = "older clients read nothing else")]
    SubscribedQualityUpdate {
        track_sid: track.sid().to_owned(),
        subscribed_qualities: qualities.to_vec(),
        subscribed_codecs: vec![SubscribedCodec {
            codec: codec.unwrap_or_default(),
            qualities: qualities.to_vec(),
        }],
    }
}
