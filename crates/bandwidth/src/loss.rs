//! The loss-based half: finds the capacity and the inherent loss of the path that together best
//! explain the observed losses.
//!
//! A fixed rule ("above 10 % slow down") cannot tell a full queue from a bad radio. A few candidate
//! rates are compared by the likelihood of the last observations' losses under each, with the
//! inherent loss that fits it best. The likeliest one is chosen; a small bias prefers the higher
//! rate if the losses do not decide.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::Fate;

/// How long one observation takes, at least. Shape: microseconds.
const OBSERVATION: i64 = 250_000;
/// Observations that are compared, and that are needed.
const OBSERVATIONS: usize = 15;
const OBSERVATIONS_MIN: usize = 3;
/// Weight of an observation relative to its successor.
const FADING: f64 = 0.9;
/// Candidates, as multiples of the present rate.
const FACTORS: [f64; 3] = [1.02, 1.0, 0.95];
const INHERENT_MIN: f64 = 1e-3;
const INHERENT_START: f64 = 0.01;
/// Loss is not called inherent beyond this,
const INHERENT_OFFSET: f64 = 0.07;
/// plus this over the rate: at a low rate a path may be bad, at a high one it is full.
const INHERENT_BALANCE: f64 = 150_000.0;
/// By how many standard deviations loss is discounted before it alone brings the rate down.
const CERTAIN: f64 = 1.0;
const NEWTON_STEP: f64 = 0.75;
/// How much more likely a higher rate is held to be, per kbit/s and per its logarithm, while less
/// is lost than this.
const BIAS: f64 = 0.0002;
const BIAS_LOGARITHM: f64 = 0.02;
const BIAS_LOSS: f64 = 0.2;
const BIAS_SMOOTHING: f64 = 0.002;
/// After a loss the rate grows by at most this factor in each window.
const REGROWTH: f64 = 1.3;
const REGROWTH_WINDOW: Duration = Duration::from_millis(1000);

/// Fits capacity and inherent loss.
///
/// Shape: rates in bits per second. Source: the published description of "loss-based bandwidth
/// estimation v2" in WebRTC, without its hold periods and padding.
#[derive(Debug)]
pub(crate) struct LossBased {
    observations: VecDeque<Observation>,
    partial: Partial,
    /// Part of the packets lost lately, as of the last report: it is asked for more often than it
    /// changes.
    recent_loss: f64,
    best: Option<Candidate>,
    regrowth: Option<Regrowth>,
    min: f64,
    max: f64,
}

#[derive(Clone, Copy, Debug)]
struct Observation {
    packets: f64,
    lost: f64,
    /// The rate sent during it.
    rate: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    packets: f64,
    lost: f64,
    bits: f64,
    /// When the first and the last of them left. Shape: microseconds.
    sent: Option<(i64, i64)>,
}

/// Packets, as much as their observations weigh.
#[derive(Clone, Copy, Debug, Default)]
struct PacketWeights {
    lost: f64,
    received: f64,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    rate: f64,
    inherent: f64,
}

/// How much the observations differ from each other.
#[derive(Clone, Copy, Debug)]
struct Spread {
    /// Their variance over that of packets lost one by one: about how many packets are lost
    /// together. As many times fewer losses are evidence of their own.
    clumping: f64,
    /// Standard deviation of the mean loss.
    of_mean: f64,
}

#[derive(Clone, Copy, Debug)]
struct Regrowth {
    until: Instant,
    limit: f64,
}

impl LossBased {
    pub(crate) fn new(min: f64, max: f64) -> Self {
        Self {
            observations: VecDeque::new(),
            partial: Partial::default(),
            recent_loss: 0.0,
            best: None,
            regrowth: None,
            min,
            max,
        }
    }

    /// One report, with the delay-based rate and the throughput at that time.
    pub(crate) fn report(&mut self, now: Instant, fates: &[Fate], delay_based: f64, throughput: Option<f64>) {
        fates.iter().for_each(|fate| self.count(fate));
        let Some(observation) = self.partial.complete() else {
            if fates.iter().any(|fate| fate.recovered) {
                self.recent_loss = self.mean();
            }
            return;
        };
        self.partial = Partial::default();
        if self.observations.len() == OBSERVATIONS {
            self.observations.pop_front();
        }
        self.observations.push_back(observation);
        self.recent_loss = self.mean();
        self.fit(now, delay_based, throughput);
    }

    fn count(&mut self, fate: &Fate) {
        if fate.recovered {
            // It was counted as lost when it was only late.
            match self.observations.back_mut() {
                Some(newest) if self.partial.lost == 0.0 => newest.lost = (newest.lost - 1.0).max(0.0),
                _ => self.partial.lost = (self.partial.lost - 1.0).max(0.0),
            }
            return;
        }
        self.partial.packets += 1.0;
        self.partial.bits += f64::from(fate.size) * 8.0;
        self.partial.lost += if fate.arrival.is_none() { 1.0 } else { 0.0 };
        let (first, last) = self.partial.sent.unwrap_or((fate.sent, fate.sent));
        self.partial.sent = Some((first.min(fate.sent), last.max(fate.sent)));
    }

    fn fit(&mut self, now: Instant, delay_based: f64, throughput: Option<f64>) {
        let before = self.best.unwrap_or(Candidate {
            rate: delay_based,
            inherent: INHERENT_START,
        });
        let loss = self.recent_loss;
        let spread = self.spread(loss);
        let limited = before.rate < delay_based;
        let mut best = self.likeliest(before, delay_based, throughput.filter(|_| limited), loss, spread);
        // More is lost than is normal here: no time to grow.
        if best.rate > before.rate && loss > best.inherent {
            best.rate = before.rate;
        }
        if limited {
            best.rate = self.regrow(now, before.rate, best.rate, throughput);
        } else {
            self.regrowth = None;
        }
        let certain = loss - CERTAIN * spread.of_mean;
        best.rate = best.rate.min(tolerable(certain)).clamp(self.min, self.max);
        self.best = Some(best);
    }

    fn likeliest(
        &self,
        before: Candidate,
        delay_based: f64,
        throughput: Option<f64>,
        loss: f64,
        spread: Spread,
    ) -> Candidate {
        FACTORS
            .iter()
            .map(|factor| factor * before.rate)
            .chain(throughput)
            .chain([delay_based])
            .map(|rate| {
                let candidate = Candidate {
                    rate: rate.clamp(self.min, self.max),
                    ..before
                };
                let candidate = self.suit(candidate);
                (candidate, self.likelihood(candidate, loss, spread))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(before, |(candidate, _)| candidate)
    }

    /// Growth after a loss: bounded in each window and by 1.5 times the received rate, but never 0.
    fn regrow(&mut self, now: Instant, before: f64, rate: f64, throughput: Option<f64>) -> f64 {
        let window = match self.regrowth {
            Some(window) if now < window.until => window,
            _ => *self.regrowth.insert(Regrowth {
                until: now + REGROWTH_WINDOW,
                limit: before * REGROWTH,
            }),
        };
        if rate <= before {
            return rate;
        }
        let arrives = throughput.map_or(f64::INFINITY, |throughput| 1.5 * throughput);
        rate.min(window.limit).min(arrives).max(before + 1_000.0)
    }

    /// One Newton step of the inherent loss towards the value that fits the candidate's rate best.
    fn suit(&self, candidate: Candidate) -> Candidate {
        let (mut first, mut second) = (0.0, 0.0);
        self.explain(candidate, |p, PacketWeights { lost, received }| {
            first += lost / p - received / (1.0 - p);
            second -= lost / (p * p) + received / ((1.0 - p) * (1.0 - p));
        });
        let step = if second < 0.0 {
            NEWTON_STEP * first / second
        } else {
            0.0
        };
        let most = (INHERENT_OFFSET + INHERENT_BALANCE / candidate.rate).clamp(INHERENT_MIN, 1.0);
        Candidate {
            inherent: (candidate.inherent - step).clamp(INHERENT_MIN, most),
            ..candidate
        }
    }

    fn likelihood(&self, candidate: Candidate, loss: f64, spread: Spread) -> f64 {
        let bias = bias(candidate.rate, loss - CERTAIN * spread.of_mean);
        let mut sum = 0.0;
        self.explain(candidate, |p, PacketWeights { lost, received }| {
            let likelihood = lost * p.ln() + received * (1.0 - p).ln();
            sum += likelihood / spread.clumping + bias * (lost + received);
        });
        sum
    }

    /// The observations, by the share of packets that the candidate's link would have lost; those
    /// that would not have filled it are passed as one sum.
    fn explain(&self, candidate: Candidate, mut each: impl FnMut(f64, PacketWeights)) {
        let mut not_full = PacketWeights::default();
        for (observation, weight) in self.weighted() {
            let told = PacketWeights {
                lost: weight * observation.lost,
                received: weight * (observation.packets - observation.lost),
            };
            match observation.rate > candidate.rate {
                true => each(loss_probability(candidate, observation.rate), told),
                false => {
                    not_full.lost += told.lost;
                    not_full.received += told.received;
                }
            }
        }
        each(loss_probability(candidate, 0.0), not_full);
    }

    /// Unevenness of losses, compared with packets lost independently.
    fn spread(&self, loss: f64) -> Spread {
        let loss = loss.clamp(INHERENT_MIN, 1.0 - INHERENT_MIN);
        let (mut excess, mut weights, mut squares, mut packets) = (0.0, 0.0, 0.0, 0.0);
        for (observation, weight) in self.weighted() {
            let expected = loss * observation.packets;
            let squared = (observation.lost - expected).powi(2);
            excess += weight * squared / (expected * (1.0 - loss)).max(f64::MIN_POSITIVE);
            squares += weight * weight * squared;
            weights += weight;
            packets += weight * observation.packets;
        }
        Spread {
            clumping: (excess / weights).max(1.0),
            of_mean: squares.sqrt() / packets.max(1.0),
        }
    }

    /// The observations with their weights, the newest first.
    fn weighted(&self) -> impl Iterator<Item = (&Observation, f64)> {
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * FADING));
        self.observations.iter().rev().zip(weights)
    }

    /// Part of the packets lost lately.
    pub(crate) fn loss(&self) -> f64 {
        self.recent_loss
    }

    fn mean(&self) -> f64 {
        let (lost, packets) = self
            .weighted()
            .fold((0.0, 0.0), |(lost, packets), (observation, weight)| {
                (lost + weight * observation.lost, packets + weight * observation.packets)
            });
        if packets > 0.0 { lost / packets } else { 0.0 }
    }

    /// The rate, once enough was observed.
    pub(crate) fn rate(&self) -> Option<f64> {
        let best = self.best?;
        (self.observations.len() >= OBSERVATIONS_MIN).then_some(best.rate)
    }

    /// A probe found room, so losses are not those of a full link.
    pub(crate) fn probed(&mut self, rate: f64) {
        if let Some(best) = &mut self.best {
            best.rate = best.rate.max(rate);
        }
    }
}

impl Partial {
    fn complete(&self) -> Option<Observation> {
        let (first, last) = self.sent?;
        let span = last - first;
        (span >= OBSERVATION).then(|| Observation {
            packets: self.packets,
            lost: self.lost.min(self.packets),
            rate: self.bits * 1e6 / span as f64,
        })
    }
}

/// The highest rate on a path with this loss, whatever the fit says.
fn tolerable(loss: f64) -> f64 {
    if loss > INHERENT_OFFSET {
        INHERENT_BALANCE / (loss - INHERENT_OFFSET)
    } else {
        f64::INFINITY
    }
}

/// The share of packets lost by a link with the candidate's rate and inherent loss.
fn loss_probability(candidate: Candidate, sent: f64) -> f64 {
    let overflow = if sent > candidate.rate {
        (sent - candidate.rate) / sent
    } else {
        0.0
    };
    (candidate.inherent + (1.0 - candidate.inherent) * overflow).clamp(1e-6, 1.0 - 1e-6)
}

/// Negative if the loss is so high that the lower rate should be preferred.
fn bias(rate: f64, loss: f64) -> f64 {
    let kilobits = rate / 1e3;
    let distance = BIAS_LOSS - loss;
    (BIAS * kilobits + BIAS_LOGARITHM * (1.0 + kilobits).ln()) * distance / (BIAS_SMOOTHING + distance.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Known;

    /// Ten seconds at `rate`, of which some packets are lost, and everything beyond `capacity`.
    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn after(rate: f64, capacity: f64, lost: impl Fn(u64) -> bool) -> f64 {
        let (mut loss, start) = (LossBased::new(5e4, 3e7), Instant::now());
        let mut now = start;
        let mut carried = 0.0;
        for number in 0..(rate / 8000.0) as u64 * 10 {
            now += Duration::from_secs_f64(8000.0 / rate);
            carried = f64::min(carried + capacity / rate, 2.0);
            let arrives = carried >= 1.0 && !lost(number);
            carried -= if arrives { 1.0 } else { 0.0 };
            let fate = Fate {
                number,
                sent: (now - start).as_micros() as i64,
                size: 1000,
                probe: None,
                arrival: arrives.then_some(0),
                recovered: false,
                before: Known::Arrived,
            };
            loss.report(now, &[fate], rate, Some(rate.min(capacity)));
        }
        loss.rate().unwrap()
    }

    #[test]
    fn two_percent_of_inherent_loss_cost_nothing() {
        assert!(after(2e6, 1e9, |number| number.is_multiple_of(50)) >= 1.98e6);
    }

    #[test]
    fn losses_that_come_together_are_less_certain() {
        let spread = |lost: [f64; 4]| {
            let mut loss = LossBased::new(5e4, 3e7);
            loss.observations.extend(lost.map(|lost| Observation {
                packets: 100.0,
                lost,
                rate: 1e6,
            }));
            loss.spread(loss.mean())
        };
        let (alone, together) = (spread([9.0, 11.0, 10.0, 10.0]), spread([0.0, 24.0, 0.0, 16.0]));
        assert_eq!(alone.clumping, 1.0);
        assert!(together.clumping > 5.0, "{together:?}");
        assert!(together.of_mean > 5.0 * alone.of_mean, "{together:?}");
    }

    #[test]
    fn losses_to_a_full_link_are_given_back() {
        let rate = after(2e6, 1e6, |_| false);
        assert!(rate < 1.2e6, "{rate}");
    }
}
