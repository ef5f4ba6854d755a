//! The capacity of one receiver's downlink, divided between its subscriptions.

use std::time::{Duration, Instant};

use allocation::{BitRate, FallbackChooser, Grant, Headroom, Subscription};
use bandwidth::{Estimate, Estimator, Gcc, ProbeId, Sent};
use dataplane::Departure;
use southbound::SubscriptionId;
use wire::rtcp::ArrivalTicks;

use super::division::divide_by;
use super::remb_in::RembIn;
use super::screen_start::ScreenStart;
use crate::config::Policy;
use crate::limits::ESTIMATE_MAX;
use crate::receivers::DownlinkState;

/// A receiver that could report and has not for this long gets everything it wants.
const DEAF: Duration = Duration::from_secs(4);

/// Only an estimate with reports over this time may pause a video: the first one is measured by
/// probes, and audio is counted at its guessed rate.
const TRUSTED: Duration = Duration::from_secs(2);

/// Pace, as a multiple of the rate that may be sent: fast enough to add little delay, slow enough
/// that the path's queue stays short. Bursts that were seen to pass faster are allowed.
const PACE: f64 = 2.5;

/// The same multiple while the path is congested: faster sending would not arrive sooner, and the
/// full queue would drop the key frame of a smaller size.
const PACE_CONGESTED: f64 = 1.2;

/// Pace until the first report: a first key frame does not wait, and is not sent in one burst.
/// Shape: bits per second.
const PACE_START: u64 = 3_000_000;

/// A queue this long delays a key frame more than it takes to make one.
pub(super) const CONGESTED: Duration = Duration::from_millis(100);

/// Beyond this multiple of the rate that may be divided, the sent rate is far too high.
const CUT: f64 = 1.5;

/// This part of the estimate is divided even while a queue drains.
const DRAINING: f64 = 0.8;

/// A queue that has not shrunk after this time does not drain by the pace alone: sent, kept and
/// repeated packets take the whole capacity.
const STUCK: Duration = Duration::from_millis(500);

/// A pace is written again when it changed by this part.
const PACE_STEP: f64 = 0.05;

/// The wanted rate is probed for with this factor: a rise needs a margin, and a probe that finds
/// hardly more than the estimate does not count.
const WANTED: f64 = 1.5;

/// Streams may grow by this factor before the next division without filling the downlink.
const EASE: f64 = 1.5;

/// One downlink's estimator and policy.
pub(in crate::media) struct Budget {
    estimator: Gcc,
    policy: Box<dyn allocation::Policy + Send>,
    fallbacks: FallbackChooser,
    evidence: Evidence,
    /// The receiver's own estimate (REMB), if it sends one.
    remb_in: Option<RembIn>,
    /// The rate that is divided at most. Shape: bits per second.
    limit: Option<u64>,
    /// Bit rate of the last grant of each subscription. Shape: bits per second, in the order of the
    /// subscriptions.
    granted: Vec<(SubscriptionId, u64)>,
    /// When it first was an estimate of something.
    reported: Option<Instant>,
    pace: Option<u64>,
    /// When the estimator is looked at next, if it is: then or before it asks for it.
    timer: Option<Instant>,
    /// Scratch list of packets that were sent; kept only for its allocation.
    sent: Vec<Sent>,
    allocated: u64,
    /// Bit rate of the layers that are kept beside the grants.
    kept: u64,
    wanted: u64,
    probes: u64,
    screen_start: ScreenStart,
    /// Since when packets wait for long in the path, as of when that was last looked at.
    congested: Option<Instant>,
}

/// The share of one subscription.
#[derive(Clone, Copy, Debug)]
pub(in crate::media) struct Share {
    pub(in crate::media) grant: Grant,
    /// The smaller size that is kept beside it.
    pub(in crate::media) fallback_spatial: Option<u8>,
}

/// How a receiver's path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::media) enum Path {
    Free,
    /// Packets wait long in it.
    Full,
    /// It carries far less than is allocated: packets of the larger layers stand in its queue.
    Cut,
}

/// The evidence that the estimator has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// No packet was sent yet.
    Nothing,
    /// Packets are sent since then, without any report on them.
    Departures(Instant),
    /// The receiver reports.
    Reports,
}

impl Budget {
    pub(in crate::media) fn new(policy: Policy, limit: Option<u64>) -> Self {
        Budget {
            estimator: Gcc::new(bandwidth::Config::default()),
            policy: divide_by(policy),
            fallbacks: FallbackChooser::default(),
            evidence: Evidence::Nothing,
            remb_in: None,
            limit,
            granted: Vec::new(),
            reported: None,
            pace: None,
            timer: None,
            sent: Vec::new(),
            allocated: 0,
            kept: 0,
            wanted: 0,
            probes: 0,
            screen_start: ScreenStart::default(),
            congested: None,
        }
    }

    pub(in crate::media) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    /// Packets left.
    pub(in crate::media) fn departed(&mut self, departures: &[Departure]) {
        let sent = |departure: &Departure| Sent {
            number: departure.transport_sequence,
            at: departure.at,
            size: departure.size,
            probe: departure.probe.map(ProbeId),
        };
        if let (Evidence::Nothing, Some(first)) = (self.evidence, departures.first()) {
            self.evidence = Evidence::Departures(first.at);
        }
        self.sent.clear();
        self.sent.extend(departures.iter().map(sent));
        self.estimator.sent(&self.sent);
    }

    /// The receiver reports on packets.
    pub(in crate::media) fn reported(
        &mut self,
        now: Instant,
        report: impl Iterator<Item = (u16, Option<ArrivalTicks>)>,
    ) {
        self.estimator.report(now, report);
        // Reports on packets that were never sent are no evidence.
        if self.evidence != Evidence::Reports && self.reports_packets() {
            self.evidence = Evidence::Reports;
            self.reported.get_or_insert(now);
        }
    }

    /// The receiver's own estimate for these streams.
    pub(in crate::media) fn receiver_estimates(
        &mut self,
        now: Instant,
        streams: Vec<SubscriptionId>,
        bits_per_second: u64,
    ) {
        let remb_in = self.remb_in.get_or_insert_with(RembIn::new);
        remb_in.said(now, streams, bits_per_second);
        self.evidence = Evidence::Reports;
        self.reported.get_or_insert(now);
        match self.reports_packets() {
            // Beside better evidence it is an upper bound.
            true => self.estimator.remb(now, bits_per_second),
            false => self.follow_remb_in(now),
        }
    }

    /// Follows the receiver's own estimate, if it is the only one. It changes with time alone.
    fn follow_remb_in(&mut self, now: Instant) {
        let (wanted, reports_packets) = ((self.wanted as f64 * WANTED) as u64, self.reports_packets());
        if let (Some(remb_in), false) = (&mut self.remb_in, reports_packets) {
            let rate = remb_in.rate(now, &self.granted, wanted);
            self.estimator.remb(now, rate);
        }
    }

    /// Whether the receiver reports which packets arrived.
    pub(in crate::media) fn reports_packets(&self) -> bool {
        self.estimate().round_trip.is_some()
    }

    pub(in crate::media) fn estimate(&self) -> Estimate {
        self.estimator.estimate()
    }

    /// The next probe to send.
    pub(in crate::media) fn poll_probe(&mut self) -> Option<bandwidth::Probe> {
        let probe = self.estimator.poll_probe()?;
        self.probes += 1;
        Some(probe)
    }

    /// Its new timer, if that is earlier than the present one. The estimator postpones most of its
    /// timers before they expire, with nearly every packet.
    pub(in crate::media) fn new_timer(&mut self) -> Option<Instant> {
        let due = self.estimator.poll_timeout()?;
        let is_sooner = self.timer.is_none_or(|timer| due < timer);
        is_sooner.then(|| *self.timer.insert(due))
    }

    /// Its timer has expired; returns whether the estimator had work.
    pub(in crate::media) fn timeout(&mut self, now: Instant) -> bool {
        self.timer = None;
        let is_due = self.estimator.poll_timeout().is_some_and(|due| due <= now);
        if is_due {
            self.estimator.timeout(now);
        }
        is_due
    }

    /// Whether there was any report on sent packets.
    pub(in crate::media) fn reports(&self) -> bool {
        self.evidence == Evidence::Reports
    }

    /// Whether the estimate may pause a video.
    pub(in crate::media) fn is_trusted(&self, now: Instant) -> bool {
        self.reported
            .is_some_and(|since| now.saturating_duration_since(since) >= TRUSTED)
    }

    /// Whether there is no evidence, and never will be.
    pub(in crate::media) fn is_deaf(&self, now: Instant) -> bool {
        matches!(self.evidence, Evidence::Departures(since) if now.saturating_duration_since(since) >= DEAF)
    }

    /// Whether more is allocated than this estimate allows.
    pub(in crate::media) fn is_exceeded(&self, estimate: &Estimate) -> bool {
        self.allocated > self.divisible(estimate)
    }

    /// The rate that may be divided by this estimate.
    fn divisible(&self, estimate: &Estimate) -> u64 {
        limited(self.limit, divisible(estimate).max(self.screen_start.rate()))
    }

    /// How the path is by this estimate.
    pub(in crate::media) fn path(&self, estimate: &Estimate) -> Path {
        match is_congested(estimate) {
            _ if self.allocated as f64 > divisible(estimate).max(self.screen_start.rate()) as f64 * CUT => Path::Cut,
            true => Path::Full,
            false => Path::Free,
        }
    }

    /// Whether everything wanted is granted, with room to spare: another division soon would change
    /// nothing.
    pub(in crate::media) fn is_at_ease(&self) -> bool {
        let has_all = self.remb_in.is_none() && self.allocated >= self.wanted;
        has_all && self.divisible(&self.estimate()) as f64 >= self.allocated as f64 * EASE
    }

    /// The estimated capacity of the downlink, once it is good enough for a publisher. It is no
    /// limit while everything wanted is sent with room to spare: nothing has probed for more.
    pub(in crate::media) fn carries(&self, now: Instant) -> Option<u64> {
        let known = self.reports_packets() && self.is_trusted(now);
        known.then(|| match self.is_at_ease() {
            true => ESTIMATE_MAX,
            false => self.estimate().target,
        })
    }

    /// Whether packets wait for long in the path.
    pub(in crate::media) fn is_congested(&self) -> bool {
        is_congested(&self.estimate())
    }

    /// Whether packets have ceased to wait for long in the path since it was asked last.
    pub(in crate::media) fn has_drained(&mut self, now: Instant, estimate: &Estimate) -> bool {
        let before = self.congested;
        self.congested = is_congested(estimate).then(|| before.unwrap_or(now));
        before.is_some() && self.congested.is_none()
    }

    /// Room for layers that are kept against a fall of the estimate. During such a fall the
    /// sendable rate is lowest, so a kept layer is dropped when the path does not carry it, and not
    /// while a queue drains, unless the queue does not drain.
    fn room_to_keep(&self, now: Instant, room: Headroom) -> BitRate {
        let is_stuck = |since| now.saturating_duration_since(since) >= STUCK;
        match self.congested.is_some_and(is_stuck) {
            true => room.now,
            false => room.carried,
        }
    }

    /// The pace to write by this estimate, if it is another one than was written.
    pub(in crate::media) fn new_pace(&mut self, now: Instant, estimate: &Estimate) -> Option<Option<u64>> {
        let pace = match self.evidence {
            Evidence::Reports => {
                let times = |factor: f64| (estimate.sendable as f64 * factor) as u64;
                Some(match is_congested(estimate) {
                    true => times(PACE_CONGESTED),
                    false => times(PACE)
                        .max(estimate.burst.unwrap_or(0))
                        .max(self.screen_start.rate()),
                })
            }
            Evidence::Departures(_) if self.is_deaf(now) => None,
            Evidence::Nothing | Evidence::Departures(_) => Some(PACE_START),
        };
        let is_same = match (self.pace, pace) {
            (Some(before), Some(after)) => (before.abs_diff(after) as f64) < before as f64 * PACE_STEP,
            (before, after) => before == after,
        };
        (!is_same).then(|| {
            self.pace = pace;
            pace
        })
    }

    /// Divides the rate that may be sent now into the shares of the subscriptions.
    pub(in crate::media) fn allocate(&mut self, now: Instant, subscriptions: &[Subscription<'_>]) -> Vec<Share> {
        self.follow_remb_in(now);
        let estimate = self.estimate();
        let rates = (divisible(&estimate), PACE_START);
        let had_room = self.wanted <= self.allocated.max(rates.0) || !self.is_trusted(now);
        self.screen_start = (self.screen_start).next(now, had_room, is_congested(&estimate), rates, subscriptions);
        let room = Headroom {
            now: BitRate(self.divisible(&estimate)),
            carried: BitRate(limited(self.limit, estimate.target)),
            screen_start: BitRate(limited(self.limit, self.screen_start.rate())),
        };
        let room_to_keep = self.room_to_keep(now, room);
        let allocation = self.policy.allocate(now, room, subscriptions);
        (self.allocated, self.wanted) = (allocation.used.0, allocation.wanted.0);
        // Nothing is probed for that may not be sent.
        self.estimator
            .wanted(limited(self.limit, allocation.wanted.scaled(WANTED).0));
        let is_limited = self.limit.is_some_and(|limit| divisible(&estimate) >= limit);
        self.estimator.held_back(self.allocated < self.wanted && !is_limited);
        if self.remb_in.is_some() {
            let granted = subscriptions.iter().zip(allocation.grants);
            self.granted.clear();
            self.granted.extend(
                granted.map(|(subscription, grant)| (SubscriptionId(subscription.key.0), rate(subscription, grant))),
            );
        }
        let kept = self
            .fallbacks
            .choose(room_to_keep, allocation.used, subscriptions, allocation.grants);
        self.kept = kept.used.0;
        let shares = allocation.grants.iter().zip(kept.sizes);
        shares
            .map(|(grant, fallback_spatial)| Share {
                grant: *grant,
                fallback_spatial: *fallback_spatial,
            })
            .collect()
    }

    pub(in crate::media) fn state(&self) -> DownlinkState {
        DownlinkState {
            estimate: self.estimate(),
            reports: self.reports(),
            pace: self.pace,
            allocated: self.allocated + self.kept,
            wanted: self.wanted,
            probes: self.probes,
            anomalies: self.estimator.anomalies(),
        }
    }
}

/// Whether packets wait for long in the path.
fn is_congested(estimate: &Estimate) -> bool {
    estimate.queue >= CONGESTED
}

/// The rate that may be divided. A short queue is drained by the pace alone: a change of size costs
/// a key frame now and another one after the queue is gone.
fn divisible(estimate: &Estimate) -> u64 {
    let most = (estimate.target as f64 * DRAINING) as u64;
    estimate.sendable.max(most)
}

fn limited(limit: Option<u64>, rate: u64) -> u64 {
    limit.map_or(rate, |limit| rate.min(limit))
}

/// Bit rate of a grant: its layer and the layers that it depends on.
fn rate(subscription: &Subscription<'_>, grant: &Grant) -> u64 {
    let target = grant.target();
    target.map_or(0, |target| target.cost(subscription.offers).0)
}

#[cfg(test)]
mod tests;
