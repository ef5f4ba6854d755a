//! How receivers do, read off for whoever watches.

use std::ops::Bound;

use allocation::Offer;
use dataplane::StreamKey;
use southbound::{SubscriptionId, TransportId};
use wire::MediaKind;
use wire::codec::Layer;

use crate::media::Media;
use crate::media::budget::Budget;
use crate::media::downlink::down_track::{Choice, DownTrack};
use crate::receivers::{Granted, LayerRate, Receiver, SubscriptionState, Target};

impl Media {
    /// Every transport behind `after` that is subscribed to something, by id.
    pub(crate) fn receivers_after(&self, after: Option<TransportId>) -> impl Iterator<Item = Receiver> {
        let behind = after.map_or(Bound::Unbounded, Bound::Excluded);
        let peers = self.peers.range((behind, Bound::Unbounded));
        peers.filter_map(|(transport, _)| self.receiver(*transport))
    }

    /// One transport, if it is subscribed to something.
    pub(crate) fn receiver(&self, transport: TransportId) -> Option<Receiver> {
        let peer = self.peers.get(&transport)?;
        let subscriptions = peer.subscriptions.iter();
        (!peer.subscriptions.is_empty()).then(|| Receiver {
            transport,
            downlink: peer.budget.as_ref().map(Budget::state),
            playout_delay: peer.playout.delay(),
            subscriptions: subscriptions.filter_map(|id| self.subscription_state(*id)).collect(),
        })
    }

    fn subscription_state(&self, id: SubscriptionId) -> Option<SubscriptionState> {
        let down_track = self.down_tracks.get(&id)?;
        let subscription = &down_track.subscription;
        let track = self.tracks.get(&subscription.track);
        let current = down_track.current.filter(|_| down_track.is_sent());
        Some(SubscriptionState {
            subscription: id,
            track: subscription.track,
            kind: track.map_or(MediaKind::Video, |track| track.publication.kind),
            source: track.map(|track| track.publication.source).unwrap_or_default(),
            wanted: subscription.wanted,
            speaker: track.and_then(|track| track.speaker_rank),
            granted: self.granted(down_track),
            current: current.and_then(|current| self.target(current.source, current.layer)),
            awaits_key_frame: down_track.source.is_some_and(|key| down_track.awaits(key)),
            arrives: track.map_or(Vec::new(), |track| track.offers.0.iter().map(layer_rate).collect()),
        })
    }

    fn granted(&self, down_track: &DownTrack) -> Granted {
        let source = |layer| down_track.source.and_then(|key| self.target(key, layer));
        let send = |layer| source(layer).map_or(Granted::Undecided, Granted::Send);
        match down_track.choice {
            _ if !down_track.subscription.wanted.enabled => Granted::Disabled,
            _ if down_track.held => Granted::Held,
            _ if down_track.left_out => Granted::LeftOut,
            Choice::Free => send(Layer::HIGHEST),
            Choice::Granted(layer) => send(layer),
            Choice::NoRoom => Granted::NoRoom,
            Choice::Undecided | Choice::Expecting => Granted::Undecided,
        }
    }

    fn target(&self, key: StreamKey, layer: Layer) -> Option<Target> {
        let encoding = self.up_tracks.get(&key)?.encoding as u8;
        Some(Target { encoding, layer })
    }
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
