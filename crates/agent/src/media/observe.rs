//! How receivers do, read off for whoever watches.

use std::ops::Bound;

use southbound::{SubscriptionId, TransportId};
use wire::MediaKind;
use wire::codec::Layer;

use super::Media;
use crate::receivers::{Granted, Receiver, SubscriptionState, Target};

impl Media {
    /// Every transport behind `after` that is subscribed to something, by id.
    pub(crate) fn receivers_after(&self, after: Option<TransportId>) -> impl Iterator<Item = Receiver> {
        let behind = after.map_or(Bound::Unbounded, Bound::Excluded);
        let links = self.links.range((behind, Bound::Unbounded));
        links.filter_map(|(transport, _)| self.receiver(*transport))
    }

    /// One transport, if it is subscribed to something.
    pub(crate) fn receiver(&self, transport: TransportId) -> Option<Receiver> {
        let link = self.links.get(&transport)?;
        let subscriptions = link.subscriptions.iter();
        (!link.subscriptions.is_empty()).then(|| Receiver {
            transport,
            downlink: None,
            subscriptions: subscriptions.filter_map(|id| self.subscription_state(*id)).collect(),
        })
    }

    fn subscription_state(&self, id: SubscriptionId) -> Option<SubscriptionState> {
        let downlink = self.downlinks.get(&id)?;
        let subscription = &downlink.subscription;
        let track = self.tracks.get(&subscription.track);
        let target = |key| {
            let encoding = self.uplinks.get(&key)?.encoding as u8;
            Some(Target {
                encoding,
                layer: Layer::HIGHEST,
            })
        };
        let granted = match downlink.source.and_then(target) {
            _ if !subscription.wanted.enabled => Granted::Disabled,
            Some(target) => Granted::Send(target),
            None => Granted::Undecided,
        };
        Some(SubscriptionState {
            subscription: id,
            track: subscription.track,
            kind: track.map_or(MediaKind::Video, |track| track.publication.kind),
            source: track.map(|track| track.publication.source).unwrap_or_default(),
            wanted: subscription.wanted,
            granted,
            current: downlink.current.and_then(target),
            awaits_key_frame: downlink.source.is_some_and(|key| downlink.awaits(key)),
            arrives: Vec::new(),
        })
    }
}
