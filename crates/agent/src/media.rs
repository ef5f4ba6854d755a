//! The media over all transports: which streams arrive, who gets them, and the RTCP both need.
//!
//! Three kinds of things: a [`Track`] is what a publisher announced, an [`Uplink`] is one stream of it that arrives, a [`Downlink`]
//! is one receiver's copy. A [`Link`] is a transport as media sees it. What they do to each other is spread over the files below by
//! purpose: `publish` and `subscribe` carry out commands, `binding` explains streams, `arrivals` takes in what arrived,
//! `key_frames` asks for key frames, `feedback_in` reads RTCP, `reports` writes it. How much a receiver gets of what it wants is decided by
//! `estimate` (what its downlink carries), `allocate` (who gets how much of that) and `attention` (who is worth a place at all).

mod activity;
mod allocate;
mod allowance;
mod arrivals;
mod attention;
mod audio;
mod best;
mod binding;
mod budget;
mod downlink;
mod estimate;
mod feedback;
mod feedback_in;
mod filling;
mod key_frames;
mod link;
mod meter;
mod observe;
mod offers;
mod opinion;
mod outdated;
mod overflow;
mod owed;
mod playout;
mod publish;
mod quality;
mod repair;
mod reports;
mod resend;
mod select;
mod subscribe;
mod uplink;
mod wanted;

use std::collections::BTreeMap;

use dataplane::{LegId, ReplicaId, StreamKey};
use southbound::{SubscriptionId, TrackId, TransportId};

use crate::context::Context;
use crate::ids::Ids;
use crate::map::Map;
use crate::timers::Timer;
use audio::Hearing;
pub(crate) use binding::Unexplained;
pub(crate) use downlink::Current;
use downlink::Downlink;
use link::Link;
use overflow::Overflow;
use uplink::{Track, Uplink};

/// All media of the node. What is large is boxed: the leaves of a tree that is filled in order stay half empty.
#[derive(Default)]
pub(crate) struct Media {
    links: BTreeMap<TransportId, Box<Link>>,
    by_leg: Map<LegId, TransportId>,
    tracks: BTreeMap<TrackId, Track>,
    uplinks: Map<StreamKey, Uplink>,
    downlinks: BTreeMap<SubscriptionId, Box<Downlink>>,
    by_replica: Map<ReplicaId, SubscriptionId>,
    replica_ids: Ids,
    hearing: Hearing,
    overflow: Overflow,
}

impl Media {
    /// A transport was opened; nothing happens when it was open before.
    pub(crate) fn opened(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        self.links
            .entry(transport)
            .or_insert_with(|| Box::new(Link::new(&mut cx.shared.rng)));
    }

    /// A transport's leg is in the table: so can everything be that waited for it.
    pub(crate) fn leg_added(&mut self, cx: &mut Context<'_>, transport: TransportId, leg: LegId) {
        let Some(link) = self.links.get_mut(&transport) else {
            return;
        };
        link.leg = Some(leg);
        self.by_leg.insert(leg, transport);
        for track in link.tracks.clone() {
            self.bind_described(cx, track);
        }
        for subscription in self.links[&transport].subscriptions.clone() {
            self.write_replica(cx, subscription);
        }
        self.follow_estimate(cx, transport);
    }

    /// Packets can be sent over a transport now: reports begin, and what it has subscribed to needs key frames.
    pub(crate) fn keyed(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(link) = self.links.get_mut(&transport) else {
            return;
        };
        link.keyed = true;
        for subscription in link.subscriptions.clone() {
            self.want_first_key_frame(cx, subscription);
            self.begin_filling(cx, subscription);
        }
        self.start_reports(cx, transport);
    }

    /// A transport is gone, and with it what was published and subscribed over it. Its leg is still in the table.
    pub(crate) fn closed(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(link) = self.links.get(&transport) else { return };
        let (tracks, subscriptions) = (link.tracks.clone(), link.subscriptions.clone());
        for track in tracks {
            self.unpublish(cx, track);
        }
        for subscription in subscriptions {
            self.unsubscribe(cx, subscription);
        }
        let link = self.links.remove(&transport).expect("found above");
        link.leg.and_then(|leg| self.by_leg.remove(&leg));
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
        self.links.is_empty()
            && self.by_leg.is_empty()
            && self.tracks.is_empty()
            && self.uplinks.is_empty()
            && self.downlinks.is_empty()
            && self.by_replica.is_empty()
    }
}
