//! Google congestion control.
//!
//! A report passes [`History`] (the sent packets), throughput, probes, the delay-based and the
//! loss-based half. The lowest of their rates is the target.

use std::time::{Duration, Instant};

use wire::rtcp::ArrivalTicks;

use crate::acknowledged::Acknowledged;
use crate::app_limited::AppLimited;
use crate::bursts::Bursts;
use crate::cluster::{Clusters, ProbeResult};
use crate::confirm_lower::ConfirmLower;
use crate::delay::{DelayBased, Evidence, QUEUE_CERTAIN, QUEUE_MIN, QUEUE_NONE, SURGE};
use crate::feedback_timeout::FeedbackTimeout;
use crate::loss::LossBased;
use crate::overflow::Overflow;
use crate::probe::{Prober, Situation};
use crate::queue::Queue;
use crate::recent_capacity::RecentCapacity;
use crate::remb::Remb;
use crate::{Anomalies, Config, Estimate, Estimator, Fate, History, Limit, Probe, ProbeId, Sent, Usage};

/// A rate that falls below this share of itself in one report may return as suddenly.
const FALL: f64 = 0.66;
/// Factor on the rate each time that a receiver of packets has sent no report for too long.
const SILENCE_KEEPS: f64 = 0.7;
/// A busy path that carries less than this share of its recent rate has become narrow: no burst of
/// cross traffic takes as much.
const NARROW: f64 = 0.6;
/// A queue up to this is tolerated: bursts and jitter cause it. A longer one should shrink to it
/// within [`DRAIN`].
const QUEUE_ALLOWED: Duration = Duration::from_millis(60);
const DRAIN: Duration = Duration::from_millis(800);
/// A shorter queue may have grown by chance, so the received rate is measured over a longer time.
const QUEUE_CHANCE: Duration = Duration::from_millis(80);
/// A probe counts if it found this multiple of the estimate. On a shared path, a flow with much
/// finds hardly more, and one with little finds a lot.
const PROBE_WORTH: f64 = 1.1;
/// Within this time after a queue grew, a probe may have met a lull in cross traffic. Then no
/// single probe raises the rate by more than this factor; the next one continues from there.
const LULL: Duration = Duration::from_secs(2);
const LULL_STEP: f64 = 1.25;
/// At least this share of the target is sent while a queue drains.
const DRAIN_KEEPS: f64 = 0.4;

/// The estimator Weir uses.
///
/// Source: draft-ietf-rmcat-gcc-02, with the additions of browsers: a trend line in place of the
/// Kalman filter, a loss-based half that fits inherent loss, probing.
#[derive(Debug)]
pub struct Gcc {
    config: Config,
    wanted: f64,
    held_back: bool,
    history: History,
    acknowledged: Acknowledged,
    /// The received rate as of the last report; measuring it visits every packet of half a second.
    throughput: Option<f64>,
    recent_capacity: RecentCapacity,
    app_limited: AppLimited,
    clusters: Clusters,
    confirm_lower: ConfirmLower,
    delay: DelayBased,
    loss: LossBased,
    overflow: Overflow,
    bursts: Bursts,
    /// The rate at which bursts may be sent, as of the last report.
    burst: Option<f64>,
    queue: Queue,
    remb: Remb,
    prober: Prober,
    feedback_timeout: FeedbackTimeout,
    last_sent: Option<Instant>,
    round_trip: Option<Duration>,
    impossible_probes: u64,
    target: f64,
    limit: Limit,
    /// Kept from one report to the next only to be filled again.
    fates: Vec<Fate>,
}

impl Gcc {
    /// An estimator without measurements.
    pub fn new(config: Config) -> Self {
        let (min, max) = (config.min as f64, config.max as f64);
        Self {
            config,
            wanted: max,
            held_back: false,
            history: History::default(),
            acknowledged: Acknowledged::default(),
            throughput: None,
            recent_capacity: RecentCapacity::default(),
            app_limited: AppLimited::default(),
            clusters: Clusters::default(),
            confirm_lower: ConfirmLower::default(),
            delay: DelayBased::new(&config),
            loss: LossBased::new(min, max),
            overflow: Overflow::default(),
            bursts: Bursts::default(),
            burst: None,
            queue: Queue::default(),
            remb: Remb::default(),
            prober: Prober::new(),
            feedback_timeout: FeedbackTimeout::Idle,
            last_sent: None,
            round_trip: None,
            impossible_probes: 0,
            target: (config.start as f64).clamp(min, max),
            limit: Limit::Start,
            fates: Vec::new(),
        }
    }

    /// The same as [`feedback`](Estimator::feedback), for callers that know the type of the report,
    /// so that no packet takes a virtual call.
    pub fn report(&mut self, now: Instant, report: impl Iterator<Item = (u16, Option<ArrivalTicks>)>) {
        let mut fates = std::mem::take(&mut self.fates);
        fates.clear();
        self.history.resolve(report, &mut fates);
        if !fates.is_empty() {
            self.feedback_timeout = FeedbackTimeout::Idle;
            self.resolved(now, &mut fates);
            if self.prober.is_satisfied() {
                self.prober.go_on(now, self.situation());
            }
        }
        self.fates = fates;
    }

    fn resolved(&mut self, now: Instant, fates: &mut [Fate]) {
        self.loss_report(now, fates);
        let overflowing = self.overflow.report(fates);
        // As they nearly always are.
        if !fates.is_sorted_by_key(|fate| (fate.arrival, fate.number)) {
            fates.sort_by_key(|fate| (fate.arrival, fate.number));
        }
        let missing = fates.partition_point(|fate| fate.arrival.is_none());
        let arrived = &fates[missing..];
        if arrived.is_empty() {
            self.combine(now);
            return;
        }
        self.measure(now, arrived);
        let measured = self.measured(arrived);
        let probed = measured.and_then(|(probe, found)| self.probed(now, probe, found));
        let probed = probed.or_else(|| self.shown(missing));
        self.follow_bursts(now, arrived, overflowing);
        let evidence = Evidence {
            throughput: self.throughput,
            // Only a queue asks for it, and measuring walks over every packet of a second.
            burst_throughput: (overflowing || self.queue.standing() >= QUEUE_MIN)
                .then(|| self.burst_throughput())
                .flatten(),
            application_limited: self.app_limited.limited(),
            probed,
            queue: self.queue.standing(),
            overflowing,
        };
        self.delay.report(now, arrived, evidence);
        if let Some(rate) = probed {
            self.loss.probed(rate);
        }
        self.combine(now);
        if let Some((probe, found)) = measured {
            self.prober.answered(now, probe, found, self.situation());
        }
    }

    fn loss_report(&mut self, now: Instant, fates: &[Fate]) {
        self.loss.report(now, fates, self.delay.rate(), self.throughput);
    }

    /// Throughput, queue and round trip.
    fn measure(&mut self, now: Instant, arrived: &[Fate]) {
        for fate in arrived {
            self.acknowledged
                .arrived(fate.arrival.unwrap_or_default(), fate.size, fate.before);
        }
        self.throughput = self.acknowledged.rate();
        self.recent_capacity.report(now, self.throughput.unwrap_or_default());
        let delays = arrived.iter().filter_map(|fate| Some((fate.sent, fate.arrival?)));
        self.queue.report(delays.clone());
        let newest = arrived.last().and_then(|fate| fate.arrival).unwrap_or_default();
        let now = self.history.micros(now);
        let sample = delays
            .map(|(sent, arrival)| now - sent - newest.abs_diff(arrival) as i64)
            .min();
        if let Some(sample) = sample {
            let sample = Duration::from_micros(sample.max(0) as u64);
            let smoothed = self.round_trip.map_or(sample, |before| (before * 7 + sample) / 8);
            self.round_trip = Some(smoothed);
            self.delay.round_trip(smoothed);
        }
    }

    fn follow_bursts(&mut self, now: Instant, arrived: &[Fate], overflowing: bool) {
        let (queue, waited) = (self.queue.standing(), self.queue.waited());
        self.bursts.report(now, arrived, queue, waited);
        if overflowing {
            self.bursts.stop(now);
        }
        self.burst = self.bursts.rate(now);
    }

    /// Capacity of the path while a queue grows: exact once it has been busy for a while, otherwise
    /// the highest rate seen.
    fn burst_throughput(&self) -> Option<f64> {
        let queue = self.queue.standing();
        let is_narrow = |busy: &f64| queue >= SURGE && *busy < NARROW * self.recent_capacity.most();
        let busy = self.acknowledged.busy_rate(self.queue.busy());
        let exact = busy.filter(|busy| queue > QUEUE_CERTAIN || is_narrow(busy));
        let growing = if queue < QUEUE_CHANCE {
            self.queue.growing()
        } else {
            Duration::ZERO
        };
        exact.or_else(|| self.acknowledged.burst_rate(growing))
    }

    /// The newest measurement of a probe.
    fn measured(&mut self, arrived: &[Fate]) -> Option<(ProbeId, ProbeResult)> {
        let measured = arrived.iter().filter_map(|fate| self.clusters.arrived(fate)).last()?;
        self.impossible_probes += u64::from(measured.1 == ProbeResult::Impossible);
        Some(measured)
    }

    /// The rate that a probe proves. A rate below the estimate counts only if too little is sent to
    /// notice otherwise and two probes agree, and never if more than that arrives.
    fn probed(&mut self, now: Instant, probe: ProbeId, found: ProbeResult) -> Option<f64> {
        let ProbeResult::Rate { rate, full, .. } = found else {
            return None;
        };
        let at_most = found.at_most(self.delay.jitter_between());
        if at_most >= self.target || !full {
            self.confirm_lower.refuted();
            let counts = rate > PROBE_WORTH * self.target && self.prober.believes(probe);
            return counts.then(|| self.credible(now, rate));
        }
        let arrives = self.throughput.unwrap_or_default();
        let counts = self.app_limited.limited() && rate >= arrives;
        let proved = counts.then(|| self.confirm_lower.found(probe, at_most)).flatten();
        proved.filter(|rate| *rate < self.target)
    }

    /// A received rate above the estimate, if it proves that the path carries more; `missing`
    /// packets of the report did not arrive. Video is sent before anything is known, and its rate
    /// of arrival without a queue proves more than a first probe that went wrong. After a queue was
    /// seen, no more is sent than the estimate, and the rate of bursts proves nothing.
    fn shown(&self, missing: usize) -> Option<f64> {
        let never_full = self.delay.last_over().is_none() && self.queue.standing() < QUEUE_NONE;
        let is_whole = missing == 0 && self.loss.loss() == 0.0;
        let (believed, _) = self.seen();
        self.throughput
            .filter(|arrives| never_full && is_whole && *arrives > PROBE_WORTH * believed)
    }

    /// The part of a probe's result that is believed.
    fn credible(&self, now: Instant, rate: f64) -> f64 {
        let over = self.delay.last_over();
        match over.is_some_and(|over| now.saturating_duration_since(over) < LULL) {
            true => rate.min(LULL_STEP * self.target),
            false => rate,
        }
    }

    /// Takes the lowest of all rates.
    fn combine(&mut self, now: Instant) {
        let before = self.target;
        let seen = self.seen();
        let least = match self.remb.fresh(now) {
            Some(rate) if rate < seen.0 => (rate, Limit::Remb),
            _ => seen,
        };
        self.allow(least);
        if self.target < FALL * before {
            self.prober.fell(now);
        }
    }

    /// The lower of the delay-based and the loss-based rate.
    fn seen(&self) -> (f64, Limit) {
        let delay = self.delay.rate();
        match self.loss.rate() {
            Some(loss) if loss < delay => (loss, Limit::Loss),
            _ => (delay, Limit::Delay),
        }
    }

    fn allow(&mut self, (rate, limit): (f64, Limit)) {
        self.target = rate.clamp(self.config.min as f64, self.config.max as f64);
        self.limit = limit;
    }

    fn situation(&self) -> Situation {
        Situation {
            rate: self.target,
            ceiling: self.wanted.min(self.config.max as f64),
            queue: self.queue.standing(),
            jitter: self.delay.jitter(),
            last_over: self.delay.last_over(),
            blind: self.held_back && self.app_limited.limited(),
        }
    }

    /// Less than the target while the queue is longer than tolerated.
    fn sendable(&self) -> f64 {
        let beyond = self.queue.standing().saturating_sub(QUEUE_ALLOWED);
        let share = 1.0 - beyond.as_secs_f64() / DRAIN.as_secs_f64();
        (self.target * share.max(DRAIN_KEEPS)).max(self.config.min as f64)
    }

    fn silent(&mut self, now: Instant) {
        if !self.feedback_timeout.has_lasted(now) {
            return;
        }
        self.delay.set(now, SILENCE_KEEPS * self.target);
        self.combine(now);
        self.limit = Limit::FeedbackTimeout;
        self.prober.fell(now);
    }

    /// Whether this receiver ever reported on packets.
    fn reports(&self) -> bool {
        self.round_trip.is_some()
    }
}

impl Estimator for Gcc {
    fn sent(&mut self, packets: &[Sent]) {
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else {
            return;
        };
        let sendable = self.sendable();
        for together in packets.chunk_by(|one, next| one.at == next.at) {
            self.history.sent_together(together);
            let others = together[1..].iter().map(|packet| u32::from(packet.size)).sum();
            self.app_limited
                .sent(together[0].at, together[0].size, others, sendable);
        }
        if self.prober.is_new() {
            self.prober.started(first.at, self.situation());
        }
        if self.reports() {
            self.feedback_timeout.waits_for(first.at, last.at);
        }
        self.last_sent = Some(last.at);
    }

    fn feedback(&mut self, now: Instant, report: &mut dyn Iterator<Item = (u16, Option<ArrivalTicks>)>) {
        self.report(now, report);
    }

    fn remb(&mut self, now: Instant, bits_per_second: u64) {
        self.remb.received(now, bits_per_second);
        match self.remb.newest() {
            Some(rate) if !self.reports() => self.allow((rate, Limit::Remb)),
            _ => self.combine(now),
        }
    }

    fn wanted(&mut self, bits_per_second: u64) {
        self.wanted = bits_per_second as f64;
    }

    fn held_back(&mut self, is_held_back: bool) {
        self.held_back = is_held_back;
    }

    fn timeout(&mut self, now: Instant) {
        if let Some(sent) = self.last_sent {
            self.queue.idle(now.saturating_duration_since(sent));
        }
        self.silent(now);
        self.prober.timeout(now, self.situation());
    }

    fn poll_timeout(&self) -> Option<Instant> {
        // Probes are only sent to receivers that report on them.
        let probe = self.prober.poll_timeout().filter(|_| self.reports());
        [self.feedback_timeout.poll_timeout(), probe]
            .into_iter()
            .flatten()
            .min()
    }

    fn poll_probe(&mut self) -> Option<Probe> {
        let probe = self.prober.poll()?;
        self.clusters.watch(&probe);
        Some(probe)
    }

    fn estimate(&self) -> Estimate {
        Estimate {
            target: self.target as u64,
            sendable: self.sendable() as u64,
            limit: self.limit,
            usage: if self.reports() {
                self.delay.usage()
            } else {
                Usage::Normal
            },
            acknowledged: self.throughput.map(|rate| rate as u64),
            loss: self.loss.loss(),
            round_trip: self.round_trip,
            queue: self.queue.standing(),
            burst: self.burst.map(|rate| rate as u64),
            application_limited: self.app_limited.limited(),
        }
    }

    fn anomalies(&self) -> Anomalies {
        Anomalies {
            jumps: self.delay.jumps(),
            impossible_probes: self.impossible_probes,
            ..self.history.anomalies()
        }
    }
}
