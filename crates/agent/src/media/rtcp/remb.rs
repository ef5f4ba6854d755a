//! Receivers' estimates of their downlinks (REMB), for our estimate and for publishers.

use std::collections::BTreeMap;
use std::time::Instant;

use southbound::{SubscriptionId, TransportId};
use wire::rtcp::{Remb, TransportFeedback};

use crate::context::Context;
use crate::counters::Counter;
use crate::limits::ESTIMATE_MAX;
use crate::media::Media;
use crate::media::budget::Budget;

impl Media {
    /// A receiver reports arrived packets and their times; the report arrived at `at`.
    pub(super) fn transport_feedback(
        &mut self,
        cx: &mut Context<'_>,
        at: Instant,
        transport: TransportId,
        feedback: &TransportFeedback<'_>,
    ) {
        cx.count(Counter::RtcpEstimate);
        let Some(budget) = self.budgets.get_mut(transport) else {
            return;
        };
        budget.reported(at, feedback.packets());
        if let Some(known) = self.transports.get_mut(transport) {
            known.estimated(budget.estimate().round_trip);
        }
        self.follow_estimate(cx, transport);
    }

    /// A receiver sent its own estimate.
    pub(super) fn receiver_estimate(&mut self, cx: &mut Context<'_>, transport: TransportId, remb: &Remb<'_>) {
        cx.count(Counter::RtcpEstimate);
        self.budgets.has_remb(transport);
        self.begin_estimate(cx, transport);
        let named = remb.sources();
        let mut streams: Vec<_> = named
            .filter_map(|ssrc| self.downlink.with_ssrc(transport, ssrc))
            .collect();
        if streams.is_empty() {
            // An estimate that names no stream is about all of them.
            streams.extend(self.downlink.subscriptions_of(transport));
        }
        if !self.budgets.get(transport).is_some_and(Budget::reports_packets) {
            self.pass_on_estimate(cx.now, transport, &streams, remb.bitrate, true);
        }
        let Some(budget) = self.budgets.get_mut(transport) else {
            return;
        };
        budget.receiver_estimates(cx.now, streams, remb.bitrate);
        self.follow_estimate(cx, transport);
    }

    /// A receiver's estimate for these subscriptions together is reported to their publishers, if
    /// nothing is encrypted. `is_own` if the receiver sent it itself.
    fn pass_on_estimate(
        &mut self,
        now: Instant,
        to: TransportId,
        about: &[SubscriptionId],
        estimate: u64,
        is_own: bool,
    ) {
        if !self.transports.is_clear(to) {
            return;
        }
        let mut publishers: BTreeMap<TransportId, u64> = BTreeMap::new();
        for (track, rate) in about.iter().filter_map(|id| self.downlink.sent_of(*id)) {
            if let Some(track) = self.uplink.track(track) {
                *publishers.entry(track.publication().transport).or_default() += rate;
            }
        }
        let all = self.downlink.subscriptions_of(to);
        let (count, of_all) = (publishers.len() as u64, publishers.values().sum());
        for (publisher, of_this) in publishers {
            let rate = part(estimate.min(ESTIMATE_MAX), of_this, of_all, count);
            let is_theirs = |id: &SubscriptionId| {
                let track = self
                    .downlink
                    .sent_of(*id)
                    .and_then(|(track, _)| self.uplink.track(track));
                track.is_none_or(|track| track.publication().transport == publisher)
            };
            let is_whole = is_own && all.iter().all(is_theirs);
            self.uplink
                .receiver_takes(now, &self.transports, publisher, to, (rate, is_whole));
        }
    }

    /// The same for a receiver that reports arrived packets: the estimate made of them.
    pub(super) fn pass_on_own_estimate(&mut self, now: Instant, to: TransportId) {
        if !self.transports.is_clear(to) {
            return;
        }
        let Some(estimate) = self.budgets.get(to).and_then(|budget| budget.carries(now)) else {
            return;
        };
        let about = self.downlink.subscriptions_of(to);
        self.pass_on_estimate(now, to, &about, estimate, false);
    }
}

/// One publisher's part of an estimate for `publishers` of them.
fn part(estimate: u64, of_this: u64, of_all: u64, publishers: u64) -> u64 {
    let others = of_all.saturating_sub(of_this);
    estimate.saturating_sub(others).max(estimate / publishers.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_gets_the_remainder_and_at_least_an_equal_share() {
        assert_eq!(part(3_000_000, 2_000_000, 2_100_000, 2), 2_900_000);
        assert_eq!(part(3_000_000, 100_000, 2_100_000, 2), 1_500_000);
        assert_eq!(part(1_000_000, 0, 5_000_000, 4), 250_000);
        assert_eq!(part(0, 1, 2, 0), 0);
        assert_eq!(part(u64::MAX, 0, u64::MAX, 1), u64::MAX);
    }
}
