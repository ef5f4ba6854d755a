//! Quality for a listener: mean opinion scores by the E-model.
//!
//! Assumptions, all of them: G.711 with packet loss concealment ([`CONCEALED`]), so that without
//! loss a narrow-band call is as good as it gets; random loss; the defaults of G.107 for everything
//! else, which make R 93.2 without delay; no advantage factor. One-way delay is half the round trip
//! from end to end and the jitter, which a jitter buffer adds. If the round trip is not known, only
//! the jitter counts, and the score is one of listening quality.
//!
//! Source: ITU-T G.107 (2015) clauses 7.1 to 7.4 and annex B, G.113 appendix I for the loss
//! robustness of codecs.

mod delay;

use std::time::Duration;

use southbound::relay::Report;

/// How a codec takes loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Equipment impairment without loss, Ie.
    pub impairment: f64,
    /// Packet-loss robustness, Bpl.
    pub robustness: f64,
}

/// G.711 with the concealment of its appendix I.
pub const CONCEALED: Codec = Codec {
    impairment: 0.0,
    robustness: 25.1,
};

/// G.711 without concealment.
pub const UNCONCEALED: Codec = Codec {
    impairment: 0.0,
    robustness: 4.3,
};

/// The mean opinion score, 1 to 4.5.
///
/// Shape: `delay` is one way, `loss` a part of all packets, 0 to 1.
pub fn mean_opinion_score(codec: Codec, delay: Duration, loss: f64) -> f64 {
    score(rating(codec, delay, loss))
}

/// The transmission rating R, at most 93.2.
fn rating(codec: Codec, delay: Duration, loss: f64) -> f64 {
    let percent = loss.clamp(0.0, 1.0) * 100.0;
    let by_loss = codec.impairment + (95.0 - codec.impairment) * percent / (percent + codec.robustness);
    93.2 - delay::impairment(delay) - by_loss
}

/// The score of a transmission rating (annex B).
fn score(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    // The cubic dips below its own scale near zero.
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
}

/// The distribution of scores over reports.
///
/// Shape: `counts[n]` are reports of at most [`BOUNDS`](Self::BOUNDS)`[n]` and above the previous
/// bound; the last count is of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// How many, by score.
    pub counts: [u64; Self::BOUNDS.len() + 1],
    /// The sum of all scores.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Scores {
    /// Upper bounds of the classes of scores. Listeners' bad, poor, fair and good lie between whole
    /// numbers.
    pub const BOUNDS: [f64; 7] = [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.25];

    pub(crate) fn add(&mut self, score: f64) {
        let place = Self::BOUNDS.iter().position(|bound| score <= *bound);
        self.counts[place.unwrap_or(Self::BOUNDS.len())] += 1;
        self.sum += score;
        self.squares += score * score;
    }
}

/// The quality of one stream over time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quality {
    pub(crate) ssrc: u32,
    pub(crate) samples: u32,
    pub(crate) lowest: Sample,
    pub(crate) highest: Sample,
    score: f64,
    loss: f64,
    jitter: Duration,
    round_trip: Mean,
    round_trip_leg: Mean,
    /// The time of the last report, since 1970-01-01 UTC.
    at: Duration,
}

/// One report, with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) score: f64,
    pub(crate) report: Report,
    /// When, since 1970-01-01 UTC.
    pub(crate) at: Duration,
}

/// The mean of a value that only some reports have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    sum: Duration,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: Option<Duration>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn value(self) -> Option<Duration> {
        self.sum.checked_div(self.count)
    }
}

impl Sample {
    pub(crate) fn new(report: Report, at: Duration) -> Self {
        let delay = report.round_trip.unwrap_or_default() / 2 + report.jitter;
        Self {
            score: mean_opinion_score(CONCEALED, delay, report.loss),
            report,
            at,
        }
    }
}

impl Quality {
    pub(crate) fn new(ssrc: u32, first: Sample) -> Self {
        let mut quality = Self {
            ssrc,
            samples: 0,
            lowest: first,
            highest: first,
            score: 0.0,
            loss: 0.0,
            jitter: Duration::ZERO,
            round_trip: Mean::default(),
            round_trip_leg: Mean::default(),
            at: first.at,
        };
        quality.add(first);
        quality
    }

    pub(crate) fn add(&mut self, sample: Sample) {
        self.samples += 1;
        if sample.score < self.lowest.score {
            self.lowest = sample;
        }
        if sample.score > self.highest.score {
            self.highest = sample;
        }
        let report = sample.report;
        self.score += sample.score;
        self.loss += report.loss;
        self.jitter += report.jitter;
        self.round_trip.add(report.round_trip);
        self.round_trip_leg.add(report.round_trip_leg);
        self.at = sample.at;
    }

    pub(crate) fn average(&self) -> Sample {
        let count = f64::from(self.samples);
        Sample {
            score: self.score / count,
            report: Report {
                loss: self.loss / count,
                jitter: self.jitter / self.samples,
                round_trip: self.round_trip.value(),
                round_trip_leg: self.round_trip_leg.value(),
            },
            at: self.at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_tables() {
        let table = [
            (20, 0.0, 4.40, 4.40),
            (150, 0.0, 4.33, 4.33),
            (50, 1.0, 3.77, 4.29),
            (150, 1.0, 3.67, 4.23),
            (50, 3.0, 2.72, 4.08),
            (200, 2.0, 2.87, 3.98),
            (300, 0.0, 3.72, 3.72),
        ];
        for (delay, percent, bare, concealed) in table {
            let delay = Duration::from_millis(delay);
            for (codec, expected) in [(UNCONCEALED, bare), (CONCEALED, concealed)] {
                let score = mean_opinion_score(codec, delay, percent / 100.0);
                assert!(
                    (score - expected).abs() < 0.01,
                    "{delay:?} {percent} %: {score}, not {expected}"
                );
            }
        }
    }

    /// Of the whole of clause 7.4 with the defaults of table 2, computed apart from this program,
    /// to a tenth.
    #[test]
    fn ratings_are_the_standards() {
        for (delay, percent, expected) in [
            (0, 0.0, 93.2),
            (100, 0.0, 90.7),
            (150, 0.0, 89.5),
            (200, 0.0, 85.8),
            (250, 0.0, 79.2),
            (300, 0.0, 72.7),
            (400, 0.0, 62.2),
            (500, 0.0, 54.8),
            (600, 0.0, 49.5),
            (800, 0.0, 42.8),
            (1000, 0.0, 39.1),
            (2000, 0.0, 32.5),
            (0, 1.0, 89.6),
            (400, 5.0, 46.5),
        ] {
            let rating = rating(CONCEALED, Duration::from_millis(delay), percent / 100.0);
            assert!(
                (rating - expected).abs() < 0.06,
                "{delay} ms, {percent} %: {rating}, not {expected}"
            );
        }
        let scores = [(400, 3.21), (600, 2.55), (1000, 2.02)];
        for (delay, expected) in scores {
            let score = mean_opinion_score(CONCEALED, Duration::from_millis(delay), 0.0);
            assert!((score - expected).abs() < 0.006, "{delay} ms: {score}, not {expected}");
        }
    }

    #[test]
    fn a_round_trip_is_the_mean_of_reports_that_have_one() {
        let report = |round_trip: Option<u64>| Report {
            loss: 0.0,
            jitter: Duration::ZERO,
            round_trip: round_trip.map(Duration::from_millis),
            round_trip_leg: None,
        };
        let mut quality = Quality::new(1, Sample::new(report(None), Duration::ZERO));
        for round_trip in [Some(80), None, Some(120), None] {
            quality.add(Sample::new(report(round_trip), Duration::ZERO));
        }
        let average = quality.average().report;
        assert_eq!(
            (average.round_trip, average.round_trip_leg, quality.samples),
            (Some(Duration::from_millis(100)), None, 5)
        );
    }

    #[test]
    fn scores_stay_within_their_scale_and_fall_with_loss() {
        let mut last = f64::INFINITY;
        for percent in 0..=100 {
            let score = mean_opinion_score(UNCONCEALED, Duration::from_secs(2), f64::from(percent) / 100.0);
            assert!((1.0..=4.5).contains(&score) && score <= last);
            last = score;
        }
        let best = mean_opinion_score(CONCEALED, Duration::ZERO, 0.0);
        assert!((4.40..4.42).contains(&best), "{best}");
    }

    #[test]
    fn an_average_is_of_all_samples() {
        let report = |loss| Report {
            loss,
            jitter: Duration::from_millis(10),
            round_trip: None,
            round_trip_leg: None,
        };
        let (good, bad) = (
            Sample::new(report(0.0), Duration::ZERO),
            Sample::new(report(0.2), Duration::ZERO),
        );
        let mut quality = Quality::new(1, good);
        quality.add(bad);
        assert_eq!((quality.lowest, quality.highest), (bad, good));
        assert!((quality.average().score - (good.score + bad.score) / 2.0).abs() < 1e-9);
        assert!((quality.average().report.loss - 0.1).abs() < 1e-9);
    }
}
