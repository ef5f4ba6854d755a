//! The delay-based rate: it rises while the path is quiet, and falls to the received rate when a
//! queue grows.
//!
//! Far from the known capacity the rate grows by a share of itself, near it by about a packet per
//! response time.

use std::time::{Duration, Instant};

use crate::Usage;

/// The factor of a decrease, applied to the received rate. The draft uses 0.85 so that the queue
/// drains. Here the sendable rate falls further by itself until the queue has drained, and the
/// estimate stays near the capacity.
const DECREASE: f64 = 0.94;
/// While the queue is long the rate falls by steps, down to this share of the average received
/// rate.
const LONG_QUEUE_STEP: f64 = 0.95;
const LONG_QUEUE_DECREASE: f64 = 0.92;
/// Growth per second far from the known capacity.
const GROWTH: f64 = 1.08;
const FAR_GROWTH_MIN: f64 = 8_000.0;
/// The rate is at most this multiple of the received rate, plus [`HEADROOM`]: unused capacity is
/// not proved.
const HEADROOM_FACTOR: f64 = 1.5;
const HEADROOM: f64 = 10_000.0;
/// The rate does not grow beyond the known capacity while less than this part of it arrives: more
/// was never seen to pass, and is left to probes.
const USED: f64 = 0.8;
/// Growth per second near the known capacity, at least.
const NEAR_GROWTH_MIN: f64 = 4_000.0;
const FRAME_INTERVAL: f64 = 1.0 / 30.0;
const PACKET_BITS: f64 = 1200.0 * 8.0;
/// Too much twice within this time is one fall.
const AGAIN: Duration = Duration::from_secs(1);
/// Detection time in addition to a round trip.
const DETECTION: Duration = Duration::from_millis(100);
const ROUND_TRIP_START: Duration = Duration::from_millis(200);
/// A queue within this time after a probe raised the rate shows that the probe was wrong.
const TRIAL: Duration = Duration::from_secs(1);

/// Additive increase, multiplicative decrease.
///
/// Source: draft-ietf-rmcat-gcc-02 section 5.5.
#[derive(Debug)]
pub(crate) struct Aimd {
    rate: f64,
    /// When a probe raised the rate last, and from where.
    raised: Option<(Instant, f64)>,
    state: State,
    changed: Option<Instant>,
    /// When too much was sent last.
    over: Option<Instant>,
    capacity: Capacity,
    round_trip: Duration,
    min: f64,
    max: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Increase,
    /// After a decrease, until the queue has drained.
    Hold,
}

/// Input of the rate control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) usage: Usage,
    /// The received rate, averaged over frames. Shape: bits per second.
    pub(crate) throughput: Option<f64>,
    /// The current received rate, exact while the link is busy. Shape: bits per second.
    pub(crate) burst_throughput: Option<f64>,
    pub(crate) application_limited: bool,
    /// Whether the queue is so long that the rate must not rise, and must fall for any received
    /// rate.
    pub(crate) long_queue: bool,
    /// Whether the queue grew so much since the last report that the path must have become narrow.
    /// The next report may not show it.
    pub(crate) surges: bool,
    /// The share of the rate that a decrease keeps at least.
    pub(crate) keeps: f64,
}

impl Aimd {
    pub(crate) fn new(start: f64, min: f64, max: f64) -> Self {
        Self {
            rate: start.clamp(min, max),
            raised: None,
            state: State::Increase,
            changed: None,
            over: None,
            capacity: Capacity::default(),
            round_trip: ROUND_TRIP_START,
            min,
            max,
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    pub(crate) fn round_trip(&mut self, round_trip: Duration) {
        self.round_trip = round_trip;
    }

    /// A probe, or the end of a silence, found this rate.
    pub(crate) fn set(&mut self, now: Instant, rate: f64) {
        if rate > self.rate {
            self.raised = Some((now, self.rate));
        }
        self.rate = rate.clamp(self.min, self.max);
        self.changed = Some(now);
        if self.capacity.upper().is_some_and(|upper| self.rate > upper) {
            self.capacity = Capacity::default();
        }
    }

    pub(crate) fn update(&mut self, now: Instant, input: Input) {
        match input.usage {
            Usage::Over => self.over(now, input),
            Usage::Under => self.state = State::Hold,
            Usage::Normal => {
                if self.state == State::Hold {
                    self.state = State::Increase;
                    self.changed = Some(now);
                }
                self.increase(now, input);
            }
        }
    }

    fn over(&mut self, now: Instant, input: Input) {
        let Some(throughput) = input.burst_throughput.or(input.throughput) else {
            if self.may_decrease(now, None) {
                self.decrease_to(now, self.rate / 2.0);
            }
            return;
        };
        if !input.surges && !self.may_decrease(now, Some(throughput)) {
            return;
        }
        let rate = (DECREASE * self.carried(now, throughput, input))
            .max(input.keeps * self.proven(now))
            .min(self.rate);
        self.over = Some(now);
        if rate < self.rate {
            // Otherwise more is carried than the rate: a burst made the queue, and the path was not
            // found full.
            self.full_at(throughput);
        }
        self.decrease_to(
            now,
            if input.long_queue {
                rate.min(self.cautious(input))
            } else {
                rate
            },
        );
    }

    /// The rate without the recent rise by a probe.
    fn proven(&self, now: Instant) -> f64 {
        match self.raised {
            Some((at, before)) if now.saturating_duration_since(at) < TRIAL => before.min(self.rate),
            _ => self.rate,
        }
    }

    /// Capacity of the path, from the received rate and the known capacity. A first overuse within
    /// the usual spread only says that the path is as full as it ever was. A second one, or a long
    /// queue, says more.
    fn carried(&self, now: Instant, throughput: f64, input: Input) -> f64 {
        let again = self
            .over
            .is_some_and(|over| now.saturating_duration_since(over) < AGAIN);
        let usual = self.capacity.lower().is_some_and(|lower| throughput >= lower);
        match self.capacity.estimate {
            Some(known) if usual && !again && !input.long_queue => throughput.max(known),
            _ => throughput,
        }
    }

    fn full_at(&mut self, throughput: f64) {
        if self.capacity.lower().is_some_and(|lower| throughput < lower) {
            self.capacity = Capacity::default();
        }
        self.capacity.found(throughput);
    }

    /// A burst may seem to arrive faster than it can, so a long queue lowers the rate in steps,
    /// down to the average.
    fn cautious(&self, input: Input) -> f64 {
        let average = input
            .throughput
            .map_or(0.0, |throughput| LONG_QUEUE_DECREASE * throughput);
        (LONG_QUEUE_STEP * self.rate).max(average)
    }

    /// Once a round trip is enough: packets sent before the last decrease still arrive. The
    /// exception is a rate that is far too high.
    fn may_decrease(&self, now: Instant, throughput: Option<f64>) -> bool {
        let interval = self
            .round_trip
            .clamp(Duration::from_millis(10), Duration::from_millis(200));
        let rested = self
            .changed
            .is_none_or(|changed| now.saturating_duration_since(changed) >= interval);
        rested || self.state == State::Increase || throughput.is_some_and(|throughput| throughput < self.rate / 2.0)
    }

    fn decrease_to(&mut self, now: Instant, rate: f64) {
        self.rate = rate.clamp(self.min, self.max);
        self.state = State::Hold;
        self.changed = Some(now);
    }

    fn increase(&mut self, now: Instant, input: Input) {
        let passed = self.changed.map_or(0.0, |changed| {
            now.saturating_duration_since(changed).as_secs_f64().min(1.0)
        });
        self.changed = Some(now);
        let Some(throughput) = input.throughput else {
            return;
        };
        if self.capacity.upper().is_some_and(|upper| throughput > upper) {
            self.capacity = Capacity::default();
        }
        let limit = HEADROOM_FACTOR * throughput + HEADROOM;
        if input.application_limited || input.long_queue || self.rate >= limit {
            return;
        }
        if self.capacity.estimate.is_some_and(|known| self.rate >= known) && throughput < USED * self.rate {
            return;
        }
        let far = (self.rate * (GROWTH.powf(passed) - 1.0)).max(FAR_GROWTH_MIN * passed);
        let step = match self.capacity.estimate {
            Some(_) => far.min(self.near_growth() * passed),
            None => far,
        };
        self.rate = (self.rate + step).min(limit).clamp(self.min, self.max);
    }

    /// A packet per response time. Shape: bits per second per second.
    fn near_growth(&self) -> f64 {
        let frame = self.rate * FRAME_INTERVAL;
        let packet = frame / (frame / PACKET_BITS).ceil().max(1.0);
        let response = (self.round_trip + DETECTION).as_secs_f64();
        (packet / response).max(NEAR_GROWTH_MIN)
    }
}

/// The rate at which the path was found full, and its spread.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    estimate: Option<f64>,
    /// Squared deviation over the estimate. Shape: kilobits per second.
    deviation: f64,
}

const DEVIATION_MIN: f64 = 0.4;
const DEVIATION_MAX: f64 = 2.5;
const CAPACITY_WEIGHT: f64 = 0.05;

impl Default for Capacity {
    fn default() -> Self {
        Self {
            estimate: None,
            deviation: DEVIATION_MIN,
        }
    }
}

impl Capacity {
    fn found(&mut self, throughput: f64) {
        let sample = throughput / 1e3;
        let before = self.estimate.map_or(sample, |estimate| estimate / 1e3);
        let estimate = before + CAPACITY_WEIGHT * (sample - before);
        let error = (estimate - sample).powi(2) / estimate.max(1.0);
        let deviation = (1.0 - CAPACITY_WEIGHT) * self.deviation + CAPACITY_WEIGHT * error;
        self.deviation = deviation.clamp(DEVIATION_MIN, DEVIATION_MAX);
        self.estimate = Some(estimate * 1e3);
    }

    fn upper(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate + self.spread(estimate))
    }

    fn lower(&self) -> Option<f64> {
        self.estimate.map(|estimate| estimate - self.spread(estimate))
    }

    /// Three standard deviations.
    fn spread(&self, estimate: f64) -> f64 {
        3.0 * (self.deviation * estimate / 1e3).sqrt() * 1e3
    }
}

#[cfg(test)]
mod tests;
