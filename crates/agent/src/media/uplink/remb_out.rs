//! What publishers without encryption are told that their receivers' downlinks carry: what the best one does (REMB).
//!
//! Such a publisher should send as much as its own uplink and the best downlink carry; for those who can take less, layers are left out on the way. So the
//! estimates of all who get its streams are smoothed, and the highest goes on: one that is too low, whatever the reason, holds nobody else back. Packets
//! with transport-wide numbers tell a publisher more, and where they are negotiated this says nothing.
//!
//! A receiver estimates what it gets of all publishers together, or reports which packets arrived and it is estimated here. One publisher's part is what the others' streams leave,
//! and never less than an equal share.
//!
//! Who sends a camera in several sizes is told nothing: which of them fits is chosen here, and those that nobody gets are stopped. With less for all sizes together, the largest
//! would be gone before anyone could have found room for it.
//!
//! Source: Scallop section 5.3; draft-alvestrand-rmcat-remb-03.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dataplane::{ReplicaId, ReplicaStatistics};
use southbound::{SubscriptionId, TransportId};
use wire::Ssrc;
use wire::rtcp::RtcpWriter;

use crate::context::Context;
use crate::limits::ESTIMATE_MAX;
use crate::media::Media;
use crate::media::media_transport::MediaTransport;

/// An estimate that was replaced so long ago weighs 1/e.
const SMOOTHING: Duration = Duration::from_secs(1);

/// Receivers repeat an estimate every second while anything arrives.
const FRESH: Duration = Duration::from_secs(5);

/// The estimates of those who get one publisher's streams.
#[derive(Debug, Default)]
pub(in crate::media) struct RembOut(BTreeMap<TransportId, Smoothed>);

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    /// Shape: bits per second.
    rate: f64,
    at: Instant,
}

impl RembOut {
    /// A receiver can take so much of it.
    fn said(&mut self, now: Instant, receiver: TransportId, rate: u64) {
        let rate = rate as f64;
        let smoothed = self.0.entry(receiver).or_insert(Smoothed { rate, at: now });
        let passed = now.saturating_duration_since(smoothed.at);
        let weight = (-passed.as_secs_f64() / SMOOTHING.as_secs_f64()).exp();
        *smoothed = Smoothed {
            rate: rate + (smoothed.rate - rate) * weight,
            at: now,
        };
    }

    /// What the best of them can take, while any says so.
    fn rate(&mut self, now: Instant) -> Option<u64> {
        self.0
            .retain(|_, smoothed| now.saturating_duration_since(smoothed.at) <= FRESH);
        let rates = self.0.values().map(|smoothed| smoothed.rate as u64);
        rates.max()
    }
}

/// One publisher's part of an estimate for so many of them, of whose streams so much is sent.
fn part(estimate: u64, of_this: u64, of_all: u64, publishers: u64) -> u64 {
    let others = of_all.saturating_sub(of_this);
    estimate.saturating_sub(others).max(estimate / publishers.max(1))
}

/// How much is sent of one replica.
#[derive(Debug, Default)]
pub(in crate::media) struct Sent {
    octets: u64,
    at: Option<Instant>,
    /// Shape: bits per second.
    rate: u64,
}

impl Sent {
    fn follow(&mut self, now: Instant, octets: u64) {
        let new = octets.saturating_sub(self.octets);
        self.octets = octets;
        let Some(before) = self.at.replace(now) else { return };
        let passed = now.saturating_duration_since(before).as_secs_f64();
        if passed > 0.0 {
            self.rate = (8.0 * new as f64 / passed) as u64;
        }
    }
}

impl MediaTransport {
    /// Whether its peer goes by what receivers estimate.
    fn is_told_estimates(&self) -> bool {
        self.clear && !self.reported
    }
}

impl Media {
    /// A receiver estimates so much for these subscriptions together.
    pub(in crate::media) fn pass_on_estimate(
        &mut self,
        now: Instant,
        to: TransportId,
        about: &[SubscriptionId],
        estimate: u64,
    ) {
        if !self.peers.get(&to).is_some_and(|peer| peer.clear) {
            return;
        }
        let mut publishers: BTreeMap<TransportId, u64> = BTreeMap::new();
        for id in about {
            let Some(down_track) = self.down_tracks.get(id) else {
                continue;
            };
            if let Some(track) = self.tracks.get(&down_track.subscription.track) {
                *publishers.entry(track.publication.transport).or_default() += down_track.sent.rate;
            }
        }
        let (count, of_all) = (publishers.len() as u64, publishers.values().sum());
        for (publisher, of_this) in publishers {
            let rate = part(estimate.min(ESTIMATE_MAX), of_this, of_all, count);
            if let Some(peer) = self.peers.get_mut(&publisher).filter(|peer| peer.is_told_estimates()) {
                peer.remb_out.said(now, to, rate);
            }
        }
    }

    /// The same of a receiver that reports which packets arrived: what follows from that.
    pub(in crate::media) fn pass_on_own_estimate(&mut self, now: Instant, to: TransportId) {
        let Some(peer) = self.peers.get(&to).filter(|peer| peer.clear) else {
            return;
        };
        let Some(estimate) = peer.budget.as_ref().and_then(|budget| budget.carries(now)) else {
            return;
        };
        let about: Vec<SubscriptionId> = peer.subscriptions.iter().copied().collect();
        self.pass_on_estimate(now, to, &about, estimate);
    }

    /// Takes account of what was sent to a receiver, in a round of reports.
    pub(in crate::media) fn measure_sent(
        &mut self,
        now: Instant,
        to: TransportId,
        replicas: &[(ReplicaId, ReplicaStatistics)],
    ) {
        if !self.peers.get(&to).is_some_and(|peer| peer.clear) {
            return;
        }
        for (replica, statistics) in replicas {
            let down_track = self.by_replica.get(replica).and_then(|id| self.down_tracks.get_mut(id));
            if let Some(down_track) = down_track {
                down_track.sent.follow(now, statistics.octets);
            }
        }
    }

    /// Tells a publisher what the best of its receivers estimates, if any does.
    pub(in crate::media) fn send_remb(&mut self, cx: &mut Context<'_>, publisher: TransportId) {
        let Some(peer) = self.peers.get_mut(&publisher).filter(|peer| peer.is_told_estimates()) else {
            return;
        };
        let (Some(rate), Some(leg)) = (peer.remb_out.rate(cx.now), peer.leg) else {
            return;
        };
        let tracks = peer.tracks.iter().filter_map(|track| self.tracks.get(track));
        if tracks.clone().any(|track| track.encodings.len() > 1) {
            return;
        }
        let encodings = tracks.flat_map(|track| &track.encodings);
        let sources: Vec<Ssrc> = encodings.filter_map(|encoding| Some(encoding.stream?.ssrc)).collect();
        let mut compound = Vec::new();
        RtcpWriter::receiver_report(&mut compound, peer.ssrc, &peer.cname, &[]).remb(rate, &sources);
        cx.send_rtcp(leg, &compound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TransportId = TransportId(1);
    const B: TransportId = TransportId(2);

    #[test]
    fn the_best_downlink_counts_and_the_others_do_not() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        let mut now = start;
        for _ in 0..10 {
            remb_out.said(now, A, 0);
            remb_out.said(now, B, 2_000_000);
            now += Duration::from_secs(1);
        }
        assert_eq!(remb_out.rate(now), Some(2_000_000));
    }

    #[test]
    fn one_estimate_among_others_is_smoothed_however_often_it_is_said() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        remb_out.said(start, A, 1_000_000);
        (0..100).for_each(|_| remb_out.said(start, A, 100_000));
        assert_eq!(remb_out.rate(start), Some(1_000_000));
        let later = start + SMOOTHING;
        remb_out.said(later, A, 100_000);
        let rate = remb_out.rate(later).unwrap();
        assert!((425_000..440_000).contains(&rate), "{rate}");
    }

    #[test]
    fn who_is_silent_counts_no_more() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        remb_out.said(start, A, 3_000_000);
        remb_out.said(start + FRESH, B, 1_000_000);
        assert_eq!(remb_out.rate(start + FRESH), Some(3_000_000));
        assert_eq!(remb_out.rate(start + FRESH + Duration::from_millis(1)), Some(1_000_000));
        assert_eq!(remb_out.rate(start + 3 * FRESH), None);
    }

    #[test]
    fn a_publisher_gets_what_others_leave_and_an_equal_share_at_least() {
        assert_eq!(part(3_000_000, 2_000_000, 2_100_000, 2), 2_900_000);
        assert_eq!(part(3_000_000, 100_000, 2_100_000, 2), 1_500_000);
        assert_eq!(part(1_000_000, 0, 5_000_000, 4), 250_000);
        assert_eq!(part(0, 1, 2, 0), 0);
        assert_eq!(part(u64::MAX, 0, u64::MAX, 1), u64::MAX);
    }
}
