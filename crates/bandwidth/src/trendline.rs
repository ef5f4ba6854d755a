//! The trend of the one-way delay: a line fitted through the last groups, its slope the sign of a
//! growing queue.

use std::collections::VecDeque;

use crate::groups::Delta;

/// Points the line is fitted through.
const WINDOW: usize = 20;
/// How much of the past each point keeps.
const SMOOTHING: f64 = 0.9;
/// Deltas beyond which more of them do not make a slope more trustworthy.
const DELTAS_MAX: u32 = 60;
const GAIN: f64 = 4.0;

/// Fits the line.
///
/// Source: Carlucci et al. 2017 section IV; least squares in place of their Kalman filter, as in
/// the production form.
#[derive(Debug, Default)]
pub(crate) struct Trendline {
    /// Arrival and smoothed accumulated delay. Shape: milliseconds, both.
    points: VecDeque<(f64, f64)>,
    arrived: f64,
    accumulated: f64,
    smoothed: f64,
    deltas: u32,
    slope: f64,
}

impl Trendline {
    /// The slope after one more pair of groups, and the same scaled for comparison with a threshold
    /// in milliseconds.
    pub(crate) fn update(&mut self, delta: Delta) -> (f64, f64) {
        self.deltas = (self.deltas + 1).min(DELTAS_MAX);
        self.arrived += delta.arrived;
        self.accumulated += delta.arrived - delta.sent;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        if self.points.len() == WINDOW {
            self.points.pop_front();
        }
        self.points.push_back((self.arrived, self.smoothed));
        if self.points.len() == WINDOW {
            self.slope = fit(&self.points).unwrap_or(self.slope);
        }
        (self.slope, f64::from(self.deltas) * self.slope * GAIN)
    }
}

/// The slope of the least-squares line, unless all points arrived at once.
fn fit(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (numerator, denominator) = points.iter().fold((0.0, 0.0), |(n, d), (x, y)| {
        (n + (x - mean_x) * (y - mean_y), d + (x - mean_x) * (x - mean_x))
    });
    (denominator > 0.0).then(|| numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_grows_ten_percent_has_a_slope_of_a_tenth() {
        let mut trendline = Trendline::default();
        let delta = Delta {
            sent: 10.0,
            arrived: 11.0,
        };
        let slope = (0..200).map(|_| trendline.update(delta).0).last().unwrap();
        assert!((slope - 1.0 / 11.0).abs() < 0.01, "{slope}");
    }

    #[test]
    fn steady_delay_has_no_slope() {
        let mut trendline = Trendline::default();
        let delta = Delta {
            sent: 10.0,
            arrived: 10.0,
        };
        assert!((0..100).all(|_| trendline.update(delta) == (0.0, 0.0)));
    }
}
