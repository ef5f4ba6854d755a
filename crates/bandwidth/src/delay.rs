//! The delay-based half: groups, trend, verdict, rate.

use std::time::{Duration, Instant};

use crate::aimd::{Aimd, Input};
use crate::detector::Detector;
use crate::groups::{Grouped, Groups};
use crate::trendline::Trendline;
use crate::{Config, Fate, Usage};

/// A queue shorter than this is no sign of too much.
pub(crate) const QUEUE_MIN: Duration = Duration::from_millis(30);

/// A queue that grew by less since the last decrease is still the same one.
const QUEUE_GROWN: Duration = Duration::from_millis(10);
const LONG_GROWN: Duration = Duration::from_millis(4);
/// A queue this long that grew by this step since the last report is a surge.
pub(crate) const SURGE: Duration = Duration::from_millis(60);
const SURGE_STEP: Duration = Duration::from_millis(12);
/// A surge also needs a received rate below this part of the average.
const SURGE_THINNER: f64 = 0.8;

/// With a longer queue, sending more is of no use.
const QUEUE_LONG: Duration = Duration::from_millis(80);
/// A longer queue shows a path that carries much less than before, under any jitter.
pub(crate) const QUEUE_CERTAIN: Duration = Duration::from_millis(150);
/// Falling delay with a shorter queue is not a draining queue, and nothing waits for it.
pub(crate) const QUEUE_NONE: Duration = Duration::from_millis(20);

/// Lower bounds of one decrease, as a share of the rate, while the queue is short, and until it is
/// certain. A burst of cross traffic also makes such a queue, which then drains. If the queue grows
/// nevertheless, the next decrease follows a round trip later.
const SHORT_KEEPS: f64 = 0.93;
const LONG_KEEPS: f64 = 0.9;

/// As in RFC 3550 section 6.4.1.
const JITTER_WEIGHT: f64 = 1.0 / 16.0;

/// Finds the rate at which no queue grows.
#[derive(Debug)]
pub(crate) struct DelayBased {
    groups: Groups,
    trendline: Trendline,
    detector: Detector,
    aimd: Aimd,
    jumps: u64,
    over: Option<Instant>,
    /// As of the last report.
    queue: Duration,
    /// The shortest queue since the last decrease.
    least: Duration,
    /// Smoothed difference between how far apart groups left and arrived. Shape: milliseconds.
    jitter: f64,
    /// The same between probes.
    jitter_between: f64,
    deltas: u32,
}

/// Other input at the time of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) throughput: Option<f64>,
    /// It is known only with a queue of [`QUEUE_MIN`], or if packets are lost to a full one.
    pub(crate) burst_throughput: Option<f64>,
    pub(crate) application_limited: bool,
    /// The rate that a probe found, or that arrived before anything was known.
    pub(crate) probed: Option<f64>,
    /// How much longer packets take than the fastest ones.
    pub(crate) queue: Duration,
    /// Whether packets are lost to a full queue.
    pub(crate) overflowing: bool,
}

impl Evidence {
    /// The share of the rate that a decrease keeps at least.
    fn keeps(self) -> f64 {
        match self.queue {
            queue if self.overflowing || queue >= QUEUE_CERTAIN => 0.0,
            queue if queue > QUEUE_LONG => LONG_KEEPS,
            _ => SHORT_KEEPS,
        }
    }
}

impl DelayBased {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            groups: Groups::default(),
            trendline: Trendline::default(),
            detector: Detector::default(),
            aimd: Aimd::new(config.start as f64, config.min as f64, config.max as f64),
            jumps: 0,
            over: None,
            least: Duration::ZERO,
            queue: Duration::ZERO,
            jitter: 0.0,
            jitter_between: 0.0,
            deltas: 0,
        }
    }

    /// One report, in the order of arrival.
    pub(crate) fn report(&mut self, now: Instant, arrived: &[Fate], evidence: Evidence) {
        let mut usage = self.detector.usage();
        // A verdict lasts as long as the report: too much in its middle is too much.
        let mut over = false;
        for fate in arrived {
            if let Some(verdict) = fate.arrival.and_then(|arrival| self.packet(fate, arrival)) {
                usage = verdict;
                over |= verdict == Usage::Over;
            }
        }
        let over = usage == Usage::Over || over && usage == Usage::Normal;
        let surges = self.surges(evidence);
        let usage = match usage {
            _ if evidence.overflowing || surges => Usage::Over,
            // A trend without a queue is jitter: no reason to fall, and none to grow.
            _ if over && !self.grown(evidence.queue) => Usage::Under,
            _ if over => Usage::Over,
            Usage::Under if evidence.queue < QUEUE_NONE => Usage::Normal,
            usage => usage,
        };
        if usage == Usage::Over {
            self.over = Some(now);
        }
        self.decide(now, usage, evidence, surges);
        self.queue = evidence.queue;
        self.least = if usage == Usage::Over {
            evidence.queue
        } else {
            self.least.min(evidence.queue)
        };
    }

    /// Whether the queue grew so much from one report to the next, and the received rate fell so
    /// much, that no trend is needed: a link that becomes much narrower fills its queue before a
    /// line can be fitted.
    fn surges(&self, evidence: Evidence) -> bool {
        let (queue, rates) = (evidence.queue, evidence.burst_throughput.zip(evidence.throughput));
        let is_thinner = rates.is_some_and(|(now, average)| now < SURGE_THINNER * average);
        queue >= SURGE && queue >= self.queue + SURGE_STEP && is_thinner
    }

    /// Whether the queue is long enough to be one, and longer than the last decrease left it:
    /// otherwise that was enough.
    fn grown(&self, queue: Duration) -> bool {
        let grown = if queue > QUEUE_LONG { LONG_GROWN } else { QUEUE_GROWN };
        queue >= QUEUE_MIN && queue >= self.least + grown
    }

    fn decide(&mut self, now: Instant, usage: Usage, evidence: Evidence, surges: bool) {
        match evidence.probed {
            Some(rate) if usage != Usage::Over && rate > self.aimd.rate() => self.aimd.set(now, rate),
            // The queue is the probe's own.
            Some(rate) if evidence.application_limited && rate <= self.aimd.rate() => self.aimd.set(now, rate),
            _ => self.aimd.update(
                now,
                Input {
                    usage,
                    throughput: evidence.throughput,
                    burst_throughput: evidence.burst_throughput,
                    application_limited: evidence.application_limited,
                    long_queue: evidence.queue > QUEUE_LONG || evidence.overflowing,
                    surges,
                    keeps: if surges { 0.0 } else { evidence.keeps() },
                },
            ),
        }
    }

    fn packet(&mut self, fate: &Fate, arrival: i64) -> Option<Usage> {
        match self.groups.packet(fate.sent, arrival) {
            Grouped::Open => None,
            Grouped::Compared(delta) => {
                self.deltas = self.deltas.saturating_add(1);
                let uneven = (delta.arrived - delta.sent).abs();
                self.jitter += JITTER_WEIGHT.max(1.0 / f64::from(self.deltas)) * (uneven - self.jitter);
                if fate.probe.is_none() {
                    self.jitter_between += JITTER_WEIGHT * (uneven - self.jitter_between);
                }
                let (slope, trend) = self.trendline.update(delta);
                Some(self.detector.update(slope, trend, delta.sent, delta.arrived))
            }
            Grouped::Jumped => {
                self.jumps += 1;
                self.trendline = Trendline::default();
                self.detector = Detector::default();
                None
            }
        }
    }

    pub(crate) fn round_trip(&mut self, round_trip: Duration) {
        self.aimd.round_trip(round_trip);
    }

    /// Takes a rate from elsewhere.
    pub(crate) fn set(&mut self, now: Instant, rate: f64) {
        self.aimd.set(now, rate);
    }

    pub(crate) fn rate(&self) -> f64 {
        self.aimd.rate()
    }

    pub(crate) fn usage(&self) -> Usage {
        self.detector.usage()
    }

    /// When too much was sent last.
    pub(crate) fn last_over(&self) -> Option<Instant> {
        self.over
    }

    /// How unevenly groups arrive.
    pub(crate) fn jitter(&self) -> Duration {
        Duration::from_secs_f64(self.jitter / 1e3)
    }

    /// The same between probes, which on a narrow path make it larger.
    pub(crate) fn jitter_between(&self) -> Duration {
        Duration::from_secs_f64(self.jitter_between / 1e3)
    }

    pub(crate) fn jumps(&self) -> u64 {
        self.jumps
    }
}
