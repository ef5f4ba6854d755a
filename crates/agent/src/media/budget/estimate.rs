//! Learning what a downlink carries: what left and what the receiver says of it go in, a pace and probes come out.

use std::time::Instant;

use dataplane::{Departure, Inject, LegId, Update};
use southbound::{RemoteTransport, SubscriptionId, TransportId};
use wire::rtcp::{Remb, TransportFeedback};
use wire::{ExtensionKind, ExtensionMap, MediaKind};

use crate::Counter;
use crate::context::Context;
use crate::media::Media;
use crate::media::budget::Budget;
use crate::media::media_transport::MediaTransport;
use crate::timers::Timer;

impl Media {
    /// What a transport's description says of packets: whether they carry transport-wide numbers, either way, and whether nothing is encrypted.
    pub(crate) fn described(&mut self, cx: &mut Context<'_>, transport: TransportId, remote: &RemoteTransport) {
        if let Some(peer) = self.peers.get_mut(&transport) {
            let is_numbered = |map: &ExtensionMap| map.id(ExtensionKind::TransportSequence).is_some();
            peer.numbered = is_numbered(&remote.extensions_out);
            peer.clear = remote.fingerprints.is_empty() && cx.shared.config.clear_rtp;
            // Browsers forget what is reported to have arrived, and where packets are copied only they can send it again to who lost it.
            peer.reported = is_numbered(&remote.extensions_in) && !(peer.clear && cx.shared.config.copies);
            self.begin_estimate(cx, transport);
        }
    }

    /// Begins to estimate where it can be done and is of use: for pictures, which come in sizes.
    pub(in crate::media) fn begin_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let gets_pictures = self.gets_pictures(transport);
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        let can_report = peer.numbered || peer.estimates;
        if peer.budget.is_none() && can_report && gets_pictures && cx.shared.config.adaptation {
            peer.budget = Some(Budget::new(cx.shared.config.policy));
            self.follow_estimate(cx, transport);
            self.allocate_by(cx, transport, cx.now);
        }
    }

    fn gets_pictures(&self, transport: TransportId) -> bool {
        let Some(peer) = self.peers.get(&transport) else {
            return false;
        };
        peer.subscriptions.iter().any(|id| self.is_picture(*id))
    }

    /// Whether a subscription is one to a known video track.
    pub(in crate::media) fn is_picture(&self, id: SubscriptionId) -> bool {
        let track = self
            .down_tracks
            .get(&id)
            .map(|down_track| down_track.subscription.track);
        let track = track.and_then(|track| self.tracks.get(&track));
        track.is_some_and(|track| track.publication.kind == MediaKind::Video)
    }

    /// Packets left on a leg.
    pub(crate) fn departed(&mut self, cx: &mut Context<'_>, leg: LegId, departures: &[Departure]) {
        let Some(transport) = self.by_leg.get(&leg).copied() else {
            return;
        };
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        let Some(budget) = &mut peer.budget else { return };
        budget.departed(departures);
        match budget.reports() {
            // What is believed changes with what is said of packets, and not because they left.
            true => peer.follow_probes(cx, transport),
            false => self.follow_estimate(cx, transport),
        }
    }

    /// A receiver reports which packets arrived, and when; the report came at `at`.
    pub(in crate::media) fn transport_feedback(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        transport: TransportId,
        feedback: &TransportFeedback<'_>,
    ) {
        cx.count(Counter::RtcpEstimate);
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        let Some(budget) = &mut peer.budget else { return };
        budget.reported(at, feedback.packets());
        self.follow_estimate(cx, transport);
    }

    /// A receiver says what it believes its downlink carries.
    pub(in crate::media) fn receiver_estimate(
        &mut self,
        cx: &mut Context<'_>,
        transport: TransportId,
        remb: &Remb<'_>,
    ) {
        cx.count(Counter::RtcpEstimate);
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        peer.estimates = true;
        self.begin_estimate(cx, transport);
        let peer = self.peers.get(&transport).expect("found above");
        let mut streams: Vec<_> = remb
            .sources()
            .filter_map(|ssrc| peer.by_ssrc.get(&ssrc).copied())
            .collect();
        if streams.is_empty() {
            // Who names nothing means everything.
            streams.extend(&peer.subscriptions);
        }
        if !peer.budget.as_ref().is_some_and(Budget::reports_packets) {
            self.pass_on_estimate(cx.now, transport, &streams, remb.bitrate);
        }
        let peer = self.peers.get_mut(&transport).expect("found above");
        let Some(budget) = &mut peer.budget else { return };
        budget.receiver_estimates(cx.now, streams, remb.bitrate);
        self.follow_estimate(cx, transport);
    }

    /// A time the estimator asked for has come.
    pub(crate) fn estimate_timeout(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        let Some(budget) = &mut peer.budget else { return };
        match budget.timeout(cx.now) {
            true => self.follow_estimate(cx, transport),
            false => peer.follow_probes(cx, transport),
        }
    }

    /// Does what follows from what is believed now.
    pub(in crate::media) fn follow_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get_mut(&transport) else {
            return;
        };
        peer.follow_probes(cx, transport);
        let (Some(budget), Some(leg)) = (&mut peer.budget, peer.leg) else {
            return;
        };
        let estimate = budget.estimate();
        if let Some(pace) = budget.new_pace(cx.now, &estimate) {
            cx.write(Update::SetPace(leg, pace));
        }
        let (is_exceeded, has_drained) = (budget.is_exceeded(&estimate), budget.has_drained(cx.now, &estimate));
        if is_exceeded {
            self.allocate_by(cx, transport, cx.now);
        }
        if has_drained {
            self.want_larger_pictures(cx, transport);
        }
    }

    /// Asks for the key frames that waited for a queue to be gone.
    fn want_larger_pictures(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let Some(peer) = self.peers.get(&transport) else { return };
        let subscriptions: Vec<SubscriptionId> = peer.subscriptions.iter().copied().collect();
        for id in subscriptions {
            self.want_first_key_frame(cx, id);
        }
    }
}

impl MediaTransport {
    /// Sends the probes that the estimator asks for, and sees to it that it is asked again in time.
    fn follow_probes(&mut self, cx: &mut Context<'_>, transport: TransportId) {
        let (Some(budget), Some(leg)) = (&mut self.budget, self.leg) else {
            return;
        };
        while let Some(probe) = budget.poll_probe() {
            let what = Inject::Probe {
                leg,
                probe: probe.id.0,
                rate: probe.rate,
                bytes: probe.bytes,
                packets: probe.packets,
            };
            cx.plane.inject(cx.now, what);
            cx.count(Counter::ProbeSent);
        }
        if let Some(at) = budget.new_timer() {
            cx.timer(Timer::Estimate(transport), at);
        }
    }
}
