//! Adds, changes and removes transports, tracks and subscriptions.

use dataplane::LegId;
use southbound::{Publication, Subscription, SubscriptionId, TrackId, TransportId};
use wire::{ExtensionKind, ExtensionMap};

use super::Media;
use crate::context::Context;
use crate::timers::Timer;
use crate::transports::MediaParameters;

impl Media {
    /// A transport was opened; a repeated call has no effect.
    pub(crate) fn opened(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        self.transports.open(&mut cx.shared.rng, transport);
        self.uplink.open(transport);
        self.budgets.open(transport);
        self.downlink.open(transport);
    }

    /// Applies a transport's parameters: whether its packets carry transport-wide sequence numbers,
    /// in either direction, and whether they are unencrypted.
    pub(crate) fn described(&mut self, cx: &mut Context<'_>, transport: TransportId, parameters: &MediaParameters) {
        let Some(known) = self.transports.get_mut(transport) else {
            return;
        };
        known.described(parameters);
        let is_numbered = |map: &ExtensionMap| map.id(ExtensionKind::TransportSequence).is_some();
        // Browsers drop a packet from their history once it is reported as received. If a device
        // copies packets, no one else could repeat it for a receiver that lost it.
        let is_reported =
            is_numbered(&parameters.extensions_in) && !(parameters.is_clear && cx.plane.capabilities().copies);
        self.uplink.described(transport, is_reported);
        self.budgets
            .described(transport, is_numbered(&parameters.extensions_out));
        self.begin_estimate(cx, transport);
    }

    /// A transport's leg is in the table: so can everything be that waited for it.
    pub(crate) fn leg_added(&mut self, cx: &mut Context<'_>, transport: TransportId, leg: LegId) {
        if !self.transports.leg_added(transport, leg) {
            return;
        }
        for track in self.uplink.tracks_of(transport) {
            self.uplink.bind_described(cx, &self.transports, track);
        }
        self.follow_streams(cx);
        let (downlink, mut env) = self.downlink();
        downlink.write_replicas(cx, &mut env, transport);
        self.follow_estimate(cx, transport);
    }

    /// Packets can be sent over a transport from now on: reports begin, and its subscriptions need
    /// key frames.
    pub(crate) fn keyed(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(known) = self.transports.get_mut(transport) else {
            return;
        };
        known.keyed();
        // A request that was made before reached nobody.
        for (track, key) in self.uplink.streams_of(transport) {
            if self.uplink.take_key_frame_requests(key) && self.downlink.is_received(track, key) {
                self.uplink.request_key_frame(cx, &self.transports, key);
            }
        }
        let (downlink, mut env) = self.downlink();
        downlink.keyed(cx, &mut env, transport);
        self.start_reports(cx, transport);
    }

    /// A transport has another path. Frames were lost meanwhile, so decoders on both sides need key
    /// frames, and the downlink's estimate is of the earlier path.
    pub(crate) fn moved(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        self.restart_estimate(cx, transport);
        for (track, key) in self.uplink.streams_of(transport) {
            self.uplink.take_key_frame_requests(key);
            if self.downlink.is_received(track, key) {
                self.uplink.request_key_frame(cx, &self.transports, key);
            }
        }
        let (downlink, mut env) = self.downlink();
        downlink.request_key_frames_after_move(cx, &mut env, transport);
    }

    /// A peer has closed its transport. Its tracks stay for a while without streams, for those who
    /// receive them: they may come over another transport.
    pub(crate) fn abandon(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        for track in self.uplink.tracks_of(transport) {
            if !self.downlink.subscribers_of(track).is_empty() {
                self.uplink.abandon(cx, track);
            }
        }
        self.follow_streams(cx);
    }

    /// The time of a track is over that nothing brings any more.
    pub(crate) fn end_abandoned(&mut self, cx: &mut Context<'_>, track: TrackId) {
        if self.uplink.is_abandoned(track) {
            self.unpublish(cx, track);
        }
    }

    /// A transport is gone, and with it its publications and subscriptions. Its leg is still in the
    /// table.
    pub(crate) fn closed(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        for track in self.uplink.tracks_of(transport) {
            self.unpublish(cx, track);
        }
        for subscription in self.downlink.subscriptions_of(transport) {
            self.unsubscribe(cx, subscription);
        }
        self.uplink.close(transport);
        self.budgets.close(transport);
        self.downlink.close(transport);
        self.transports.close(transport);
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

    /// A track may arrive, or differently than before. If it comes over another transport from now
    /// on, its subscriptions go on with the streams there.
    pub(crate) fn publish(&mut self, cx: &mut Context<'_>, publication: Publication) {
        let track = publication.track;
        if !self.uplink.publish(cx, &self.transports, publication) {
            return;
        }
        self.follow_streams(cx);
        for id in self.downlink.subscribers_of(track) {
            if let Some(receiver) = self.downlink.transport_of(id) {
                self.begin_estimate(cx, receiver);
                let (downlink, env) = self.downlink();
                downlink.adopt(&env, id);
            }
        }
        self.reselect(cx, track);
    }

    /// A track may no longer arrive; its subscriptions end with it.
    pub(crate) fn unpublish(&mut self, cx: &mut Context<'_>, track: TrackId) {
        if self.uplink.track(track).is_none() {
            return;
        }
        for subscription in self.downlink.subscribers_of(track) {
            self.unsubscribe(cx, subscription);
        }
        self.uplink.unpublish(cx, track);
        self.follow_streams(cx);
    }

    /// A receiver gets a track, or differently than before.
    pub(crate) fn subscribe(&mut self, cx: &mut Context<'_>, new: Subscription) {
        let (id, transport) = (new.subscription, new.transport);
        if self.downlink.is_replaced_by(&new) {
            self.unsubscribe(cx, id);
        }
        let (downlink, env) = self.downlink();
        if !downlink.subscribe(cx, &env, new) {
            return;
        }
        self.begin_estimate(cx, transport);
        let (downlink, mut env) = self.downlink();
        downlink.adopt(&env, id);
        downlink.choose_source(&env, id);
        downlink.write_replica(cx, &mut env, id);
        self.request_changed(cx, id);
    }

    /// A receiver no longer gets a track.
    pub(crate) fn unsubscribe(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        let (downlink, env) = self.downlink();
        downlink.unsubscribe(cx, &env, id);
    }

    /// A track is forwarded to nobody, or to everybody again.
    pub(crate) fn set_forwarding(&mut self, cx: &mut Context<'_>, track: TrackId, forwarding: bool) {
        let is_held = !forwarding;
        if !self.uplink.set_held(track, is_held) {
            return;
        }
        self.downlink.set_held(track, is_held);
        for id in self.downlink.subscribers_of(track) {
            let (downlink, mut env) = self.downlink();
            downlink.write_replica(cx, &mut env, id);
            self.request_changed(cx, id);
        }
    }

    /// The rank of a speaker changed.
    pub(crate) fn set_speaker_rank(&mut self, cx: &mut Context<'_>, track: TrackId, rank: Option<u8>) {
        if self.uplink.set_speaker_rank(cx.now, track, rank) {
            for id in self.downlink.subscribers_of(track) {
                self.request_changed(cx, id);
            }
        }
    }

    /// A receiver's request or its priority changed: the shown videos and their shares may change.
    fn request_changed(&mut self, cx: &mut Context<'_>, id: SubscriptionId) {
        if let Some(transport) = self.downlink.transport_of(id) {
            self.choose_shown(cx, transport);
            self.budgets.allocate_by(cx, transport, cx.now);
        }
    }
}
