//! The media over all transports: which streams arrive, who gets them, and the RTCP both need.
//!
//! Three kinds of things: a [`Track`] is what a publisher announced, an [`UpTrack`] is one stream of it that arrives, a [`DownTrack`]
//! is one receiver's copy. A [`MediaTransport`] is a transport as media sees it. What they do to each other is spread over the files below by
//! purpose: `publish` and `subscribe` carry out commands, `binding` explains streams, `arrivals` takes in what arrived,
//! `key_frames` asks for key frames, `feedback_in` reads RTCP, `reports` writes it. How much a receiver gets of what it wants is decided by
//! `estimate` (what its downlink carries), `allocate` (who gets how much of that) and `speaker_rank` (who is worth a place at all).

mod budget;
mod downlink;
mod media_transport;
mod observe;
mod rate_limit;
mod rtcp;
mod uplink;

use std::collections::BTreeMap;

use dataplane::{LegId, ReplicaId, StreamKey};
use southbound::{SubscriptionId, TrackId, TransportId};

use crate::context::Context;
use crate::ids::Ids;
use crate::map::Map;
use crate::timers::Timer;
pub(crate) use downlink::down_track::Current;
use downlink::down_track::DownTrack;
use media_transport::MediaTransport;
use uplink::audio::Hearing;
pub(crate) use uplink::binding::UnmappedStream;
use uplink::overload::Overload;
use uplink::up_track::{Track, UpTrack};

/// All media of the node. What is large is boxed: the leaves of a tree that is filled in order stay half empty.
#[derive(Default)]
pub(crate) struct Media {
    peers: BTreeMap<TransportId, Box<MediaTransport>>,
    by_leg: Map<LegId, TransportId>,
    tracks: BTreeMap<TrackId, Track>,
    up_tracks: Map<StreamKey, UpTrack>,
    down_tracks: BTreeMap<SubscriptionId, Box<DownTrack>>,
    by_replica: Map<ReplicaId, SubscriptionId>,
    replica_ids: Ids,
    hearing: Hearing,
    overload: Overload,
}

impl Media {
    /// A transport was opened; nothing happens when it was open before.
    pub(crate) fn opened(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        self.peers
            .entry(transport)
            .or_insert_with(|| Box::new(MediaTransport::new(&mut cx.shared.rng)));
    }

    /// A transport's leg is in the table: so can everything be that waited for it.
    pub(crate) fn leg_added(&mut self, cx: &mut Context<'_>, transport: TransportId, leg: LegId) {
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        peer.leg = Some(leg);
        self.by_leg.insert(leg, transport);
        for track in peer.tracks.clone() {
            self.bind_described(cx, track);
        }
        for subscription in self.peers[&transport].subscriptions.clone() {
            self.write_replica(cx, subscription);
        }
        self.follow_estimate(cx, transport);
    }

    /// Packets can be sent over a transport now: reports begin, and what it has subscribed to needs key frames.
    pub(crate) fn keyed(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        peer.keyed = true;
        for subscription in peer.subscriptions.clone() {
            self.want_first_key_frame(cx, subscription);
            self.begin_filling(cx, subscription);
        }
        self.start_reports(cx, transport);
    }

    /// A transport is gone, and with it what was published and subscribed over it. Its leg is still in the table.
    pub(crate) fn closed(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get(&transport) else { return };
        let (tracks, subscriptions) = (peer.tracks.clone(), peer.subscriptions.clone());
        for track in tracks {
            self.unpublish(cx, track);
        }
        for subscription in subscriptions {
            self.unsubscribe(cx, subscription);
        }
        let peer = self.peers.remove(&transport).expect("found above");
        peer.leg.and_then(|leg| self.by_leg.remove(&leg));
        for timer in [
            Timer::Reports(transport),
            Timer::ReportsReady(transport),
            Timer::Feedback(transport),
            Timer::Estimate(transport),
            Timer::Allocate(transport),
            Timer::Copies(transport),
        ] {
            cx.shared.timers.clear(timer);
        }
    }

    /// Whether nothing is left of anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty()
            && self.by_leg.is_empty()
            && self.tracks.is_empty()
            && self.up_tracks.is_empty()
            && self.down_tracks.is_empty()
            && self.by_replica.is_empty()
    }
}
