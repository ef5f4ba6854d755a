//! Receivers: their subscriptions, and the media sent for each.
//!
//! `subscribe` adds and removes subscriptions, `replica` writes their table entries, `grant`
//! applies the allocator's decisions, `rtx` answers NACKs, `losses` tells receivers their playout
//! delay, `filling` sends packets before there is media, `reports` sends sender reports,
//! `layer_switches` tells timelines of switches and their causes.

mod copies;
mod deferred_rtx;
mod down_track;
mod env;
mod filling;
mod grant;
mod layer_switches;
mod losses;
mod observe;
mod playout;
mod receiver;
mod replica;
mod reports;
mod rtx;
mod select;
mod sent_rate;
mod stale_rtx;
mod subscribe;

use std::collections::{BTreeMap, BTreeSet};

use dataplane::{ReplicaId, StreamKey};
use southbound::{SubscriptionId, TrackId, TransportId};
use wire::{MediaKind, Ssrc};

use crate::ids::Ids;
use crate::map::Map;
use crate::media::uplink::Uplink;
pub(crate) use down_track::Current;
use down_track::DownTrack;
pub(in crate::media) use env::Env;
use receiver::Receiver;

/// Everything that receivers get.
#[derive(Default)]
pub(in crate::media) struct Downlink {
    receivers: BTreeMap<TransportId, Box<Receiver>>,
    tracks: BTreeMap<SubscriptionId, Box<DownTrack>>,
    /// Subscriptions by the publisher's track, which may not be there yet.
    by_track: BTreeMap<TrackId, BTreeSet<SubscriptionId>>,
    by_replica: Map<ReplicaId, SubscriptionId>,
    replica_ids: Ids,
}

impl Downlink {
    /// Adds a transport; a repeated call has no effect.
    pub(in crate::media) fn open(&mut self, transport: TransportId) {
        self.receivers.entry(transport).or_default();
    }

    /// Removes a transport, whose subscriptions are gone by now.
    pub(in crate::media) fn close(&mut self, transport: TransportId) {
        self.receivers.remove(&transport);
    }

    /// The subscriptions of a transport, in order.
    pub(in crate::media) fn subscriptions_of(&self, transport: TransportId) -> Vec<SubscriptionId> {
        let receiver = self.receivers.get(&transport);
        receiver.map_or(Vec::new(), |receiver| receiver.subscriptions.iter().copied().collect())
    }

    /// The subscriptions to a track, in order.
    pub(in crate::media) fn subscribers_of(&self, track: TrackId) -> Vec<SubscriptionId> {
        let subscribers = self.by_track.get(&track);
        subscribers.map_or(Vec::new(), |subscribers| subscribers.iter().copied().collect())
    }

    /// Whether any receiver of a track is sent this stream of it, or is about to be.
    pub(in crate::media) fn is_received(&self, track: TrackId, key: StreamKey) -> bool {
        let subscribers = self.by_track.get(&track).into_iter().flatten();
        let mut subscribers = subscribers.filter_map(|id| self.tracks.get(id));
        subscribers.any(|known| known.is_sent() && known.streams().contains(&Some(key)))
    }

    /// The subscription that a receiver gets with this SSRC.
    pub(in crate::media) fn with_ssrc(&self, transport: TransportId, ssrc: Ssrc) -> Option<SubscriptionId> {
        self.receivers.get(&transport)?.by_ssrc.get(&ssrc).copied()
    }

    /// The receiver of a subscription.
    pub(in crate::media) fn transport_of(&self, id: SubscriptionId) -> Option<TransportId> {
        Some(self.tracks.get(&id)?.subscription.transport)
    }

    /// The publisher's track of a subscription, and how fast that is sent. Shape: bits per second.
    pub(in crate::media) fn sent_of(&self, id: SubscriptionId) -> Option<(TrackId, u64)> {
        let known = self.tracks.get(&id)?;
        Some((known.subscription.track, known.sent.rate()))
    }

    /// Whether a subscription is one to a known video track.
    pub(in crate::media) fn is_picture(&self, uplink: &Uplink, id: SubscriptionId) -> bool {
        let track = self.tracks.get(&id).map(|known| known.subscription.track);
        let track = track.and_then(|track| uplink.track(track));
        track.is_some_and(|track| track.publication().kind == MediaKind::Video)
    }

    /// Whether packets can be sent to the receiver of a subscription yet.
    fn is_keyed(&self, env: &Env<'_>, id: SubscriptionId) -> bool {
        let transport = self.transport_of(id).and_then(|id| env.transports.get(id));
        transport.is_some_and(|transport| transport.is_keyed())
    }

    /// Whether a receiver gets video.
    pub(in crate::media) fn gets_pictures(&self, uplink: &Uplink, transport: TransportId) -> bool {
        let receiver = self.receivers.get(&transport);
        receiver.is_some_and(|receiver| receiver.subscriptions.iter().any(|id| self.is_picture(uplink, *id)))
    }

    /// A stream of a track is gone: nobody gets it any more.
    pub(in crate::media) fn stream_gone(&mut self, track: TrackId, key: StreamKey) {
        for id in self.by_track.get(&track).into_iter().flatten() {
            if let Some(known) = self.tracks.get_mut(id) {
                known.source = known.source.filter(|source| *source != key);
                known.current = known.current.filter(|current| current.source != key);
            }
        }
    }

    pub(in crate::media) fn is_empty(&self) -> bool {
        self.receivers.is_empty() && self.tracks.is_empty() && self.by_track.is_empty() && self.by_replica.is_empty()
    }
}
