//! Whether a trend means that too much is sent, against a threshold that adapts to how restless the
//! path is.
//!
//! A fixed threshold is either deaf on quiet paths or starved by flows that fill the queue; this
//! one follows the trend, slowly up and fast down.

use crate::Usage;

const THRESHOLD_START: f64 = 12.5;
const THRESHOLD_MIN: f64 = 6.0;
const THRESHOLD_MAX: f64 = 600.0;
/// A trend so far beyond the threshold is a step, not restlessness, and is not adapted to.
const OUTLIER: f64 = 15.0;
/// Per millisecond.
const GAIN_UP: f64 = 0.0087;
const GAIN_DOWN: f64 = 0.039;
/// The threshold moves as if no more time had passed than this. Shape: milliseconds.
const STEP_MAX: f64 = 100.0;
/// How long the trend must stay beyond the threshold. Shape: milliseconds.
const SUSTAINED: f64 = 10.0;

/// Compares trends with the threshold.
///
/// Source: Carlucci et al. 2017 section IV-C; draft-ietf-rmcat-gcc-02 sections 5.3 and 5.4.
#[derive(Debug)]
pub(crate) struct Detector {
    threshold: f64,
    slope: f64,
    beyond: Option<Beyond>,
    usage: Usage,
}

#[derive(Clone, Copy, Debug)]
struct Beyond {
    milliseconds: f64,
    groups: u32,
}

impl Default for Detector {
    fn default() -> Self {
        Self {
            threshold: THRESHOLD_START,
            slope: 0.0,
            beyond: None,
            usage: Usage::Normal,
        }
    }
}

impl Detector {
    /// The state after one more pair of groups, with their distances at sending and at arrival
    /// (milliseconds).
    pub(crate) fn update(&mut self, slope: f64, trend: f64, sent: f64, arrived: f64) -> Usage {
        if trend > self.threshold {
            self.above(slope, sent);
        } else {
            self.beyond = None;
            self.usage = if trend < -self.threshold {
                Usage::Under
            } else {
                Usage::Normal
            };
        }
        self.slope = slope;
        self.adapt(trend.abs(), arrived);
        self.usage
    }

    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    fn above(&mut self, slope: f64, sent: f64) {
        let beyond = match self.beyond {
            // Half of the time: the trend crossed somewhere in between.
            None => Beyond {
                milliseconds: sent / 2.0,
                groups: 1,
            },
            Some(beyond) => Beyond {
                milliseconds: beyond.milliseconds + sent,
                groups: beyond.groups + 1,
            },
        };
        // A trend that falls again needs no reaction.
        if beyond.milliseconds > SUSTAINED && beyond.groups > 1 && slope >= self.slope {
            self.usage = Usage::Over;
            self.beyond = Some(Beyond {
                milliseconds: 0.0,
                groups: 0,
            });
        } else {
            self.beyond = Some(beyond);
        }
    }

    fn adapt(&mut self, trend: f64, passed: f64) {
        if trend > self.threshold + OUTLIER {
            return;
        }
        let gain = if trend < self.threshold { GAIN_DOWN } else { GAIN_UP };
        let step = gain * (trend - self.threshold) * passed.clamp(0.0, STEP_MAX);
        self.threshold = (self.threshold + step).clamp(THRESHOLD_MIN, THRESHOLD_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_group_beyond_the_threshold_is_not_enough() {
        let mut detector = Detector::default();
        assert_eq!(detector.update(0.1, 20.0, 10.0, 10.0), Usage::Normal);
        assert_eq!(detector.update(0.2, 25.0, 10.0, 10.0), Usage::Over);
    }

    #[test]
    fn a_restless_path_raises_the_threshold_and_a_quiet_one_lowers_it() {
        let mut detector = Detector::default();
        for _ in 0..200 {
            detector.update(0.0, -20.0, 10.0, 10.0);
        }
        assert!(detector.threshold > 19.0);
        for _ in 0..200 {
            detector.update(0.0, 0.0, 10.0, 10.0);
        }
        assert_eq!(detector.threshold, THRESHOLD_MIN);
    }
}
