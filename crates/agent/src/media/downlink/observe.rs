//! How receivers do, read off for pages and metrics.

use std::ops::Bound;

use allocation::Offer;
use dataplane::StreamKey;
use southbound::{SubscriptionId, TransportId};
use wire::MediaKind;
use wire::codec::Layer;

use super::Downlink;
use super::down_track::{Choice, DownTrack};
use crate::media::budget::{Budget, Budgets};
use crate::media::uplink::Uplink;
use crate::receivers::{Granted, LayerRate, Receiver, SubscriptionState, Target};

impl Downlink {
    /// One transport, if it is subscribed to something.
    pub(in crate::media) fn observe(
        &self,
        uplink: &Uplink,
        budgets: &Budgets,
        transport: TransportId,
    ) -> Option<Receiver> {
        let receiver = self.receivers.get(&transport)?;
        let subscriptions = receiver.subscriptions.iter();
        (!receiver.subscriptions.is_empty()).then(|| Receiver {
            transport,
            downlink: budgets.get(transport).map(Budget::state),
            playout_delay: receiver.playout.delay(),
            subscriptions: subscriptions
                .filter_map(|id| self.subscription_state(uplink, *id))
                .collect(),
        })
    }

    /// Every transport after `after`, by id.
    pub(in crate::media) fn transports_after(
        &self,
        after: Option<TransportId>,
    ) -> impl Iterator<Item = TransportId> + use<'_> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.receivers
            .range((after, Bound::Unbounded))
            .map(|(transport, _)| *transport)
    }

    fn subscription_state(&self, uplink: &Uplink, id: SubscriptionId) -> Option<SubscriptionState> {
        let known = self.tracks.get(&id)?;
        let subscription = &known.subscription;
        let track = uplink.track(subscription.track);
        let current = known.current.filter(|_| known.is_sent());
        Some(SubscriptionState {
            subscription: id,
            track: subscription.track,
            kind: track.map_or(MediaKind::Video, |track| track.publication().kind),
            source: track.map(|track| track.publication().source).unwrap_or_default(),
            settings: subscription.settings,
            speaker: track.and_then(|track| track.speaker_rank()),
            granted: granted(uplink, known),
            current: current.and_then(|current| target(uplink, current.source, current.layer)),
            awaits_key_frame: known.source.is_some_and(|key| known.awaits(key)),
            arrives: track.map_or(Vec::new(), |track| track.offers().iter().map(layer_rate).collect()),
        })
    }
}

fn granted(uplink: &Uplink, known: &DownTrack) -> Granted {
    let source = |layer| known.source.and_then(|key| target(uplink, key, layer));
    let send = |layer| source(layer).map_or(Granted::Undecided, Granted::Send);
    match known.choice {
        _ if !known.subscription.settings.enabled => Granted::Disabled,
        _ if known.held => Granted::Held,
        _ if known.left_out => Granted::LeftOut,
        Choice::Free => send(Layer::HIGHEST),
        Choice::Granted(layer) => send(layer),
        Choice::NoRoom => Granted::NoRoom,
        Choice::Undecided | Choice::Expecting => Granted::Undecided,
    }
}

fn target(uplink: &Uplink, key: StreamKey, layer: Layer) -> Option<Target> {
    let encoding = uplink.encoding_of(key)? as u8;
    Some(Target { encoding, layer })
}

fn layer_rate(offer: &Offer) -> LayerRate {
    LayerRate {
        target: Target {
            encoding: offer.target.encoding,
            layer: offer.target.layer,
        },
        rate: offer.rate.0,
        size: offer.size,
        fps: offer.fps,
    }
}
