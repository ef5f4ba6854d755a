//! How receivers do, read off for whoever watches.

use southbound::SubscriptionId;
use wire::MediaKind;
use wire::codec::Layer;

use super::Media;
use crate::receivers::{Granted, Receiver, SubscriptionState, Target};

impl Media {
    /// Every transport that is subscribed to something.
    pub(crate) fn receivers(&self) -> Vec<Receiver> {
        let receiving = self.links.iter().filter(|(_, link)| !link.subscriptions.is_empty());
        receiving
            .map(|(transport, link)| Receiver {
                transport: *transport,
                downlink: None,
                subscriptions: link
                    .subscriptions
                    .iter()
                    .filter_map(|id| self.subscription_state(*id))
                    .collect(),
            })
            .collect()
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
