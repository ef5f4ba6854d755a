//! Scallop's policy: a fixed rate for each target.

use std::time::Duration;

use crate::{BitRate, DecodeTarget, EstimateHistory, SelectDecodeTarget};

/// Margin of the estimate over a threshold for a rise. Shape: a part.
const MARGIN: f64 = 0.15;

/// Time for which the margin must hold.
const HOLD: Duration = Duration::from_secs(1);

/// Changes between targets at fixed estimates: down at once, up when the estimate has been higher
/// by a margin for a time.
///
/// It does not use the actual rates of streams, nor their sum. It is possible on a device that sees
/// only estimates.
///
/// Source: Scallop section 5.4. The margin and the time are ours; without them an estimate that
/// wavers around a threshold changes the target each time.
#[derive(Clone, Debug)]
pub struct Thresholds {
    /// From the least estimate up.
    steps: Vec<(BitRate, DecodeTarget)>,
    margin: f64,
    hold: Duration,
}

impl Thresholds {
    /// Each target with the estimate from which on it is sent. The one with the least is sent below
    /// it, too.
    ///
    /// Shape: `margin` is a part, 0.15 for 15 %.
    pub fn new(steps: impl Into<Vec<(BitRate, DecodeTarget)>>, margin: f64, hold: Duration) -> Self {
        let mut steps = steps.into();
        steps.sort_by_key(|(least, _)| *least);
        Self { steps, margin, hold }
    }

    /// Three frame rates of one encoding, as Scallop sends AV1: all of them from the given estimate
    /// on, half of the frames from 60 % of it, a quarter below that. These are the parts of the
    /// rate that encoders give to the layers.
    pub fn frame_rates(full: BitRate) -> Self {
        let step = |part, temporal| (full.scaled(part), DecodeTarget::new(0, 0, temporal));
        Self::new([step(0.0, 0), step(0.6, 1), step(1.0, 2)], MARGIN, HOLD)
    }

    /// Thresholds for several sizes, as browsers send them: each size with all frames from its own
    /// rate on, and with half of them from 60 % of it; the smallest also with a quarter. Sizes are
    /// encodings, or spatial layers where there is one encoding.
    ///
    /// Shape: rates with all frames, from the smallest size up, each at least 1.7 times the one
    /// before.
    pub fn sizes(full: &[BitRate]) -> Self {
        let step = |size, rate: &BitRate| {
            [(0.6, 1), (1.0, 2)].map(|(part, temporal)| (rate.scaled(part), DecodeTarget::new(size, 0, temporal)))
        };
        let lowest = (BitRate(0), DecodeTarget::new(0, 0, 0));
        let steps = (0..).zip(full).flat_map(|(size, rate)| step(size, rate));
        Self::new(std::iter::once(lowest).chain(steps).collect::<Vec<_>>(), MARGIN, HOLD)
    }

    fn step_at(&self, estimate: BitRate) -> usize {
        let reached = self.steps.partition_point(|(least, _)| *least <= estimate);
        reached.saturating_sub(1)
    }
}

impl SelectDecodeTarget for Thresholds {
    fn select(&self, current: DecodeTarget, history: &EstimateHistory, estimate: BitRate) -> DecodeTarget {
        let at = self.step_at(estimate);
        let Some(before) = self.steps.iter().position(|(_, target)| *target == current) else {
            return self.steps.get(at).map_or(current, |(_, target)| *target);
        };
        if at <= before {
            return self.steps[at].1;
        }
        let safe = history.lowest_over(self.hold).unwrap_or_default();
        let up = self.step_at(safe.scaled(1.0 / (1.0 + self.margin)));
        self.steps[up.clamp(before, at)].1
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Plays estimates, 100 ms apart, and tells the temporal layer after each.
    fn play(estimates: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let policy = Thresholds::frame_rates(BitRate::kilo(1_000));
        let mut now = Instant::now();
        let mut history = EstimateHistory::new();
        let mut current = DecodeTarget::new(0, 0, 2);
        let select = |kilo| {
            now += Duration::from_millis(100);
            history.push(now, BitRate::kilo(kilo));
            current = policy.select(current, &history, BitRate::kilo(kilo));
            current.layer.temporal
        };
        estimates.into_iter().map(select).collect()
    }

    #[test]
    fn it_goes_down_with_the_first_estimate_that_is_too_low() {
        assert_eq!(play([1_000, 999, 600, 599, 1]), [2, 1, 1, 0, 0]);
    }

    #[test]
    fn it_goes_up_after_a_second_above_the_margin() {
        let layers = play([500].into_iter().chain([1_200; 15]));
        let up = layers.iter().position(|layer| *layer == 2);
        assert!((10..14).contains(&up.unwrap()), "{layers:?}");
        assert_eq!(
            play([500].into_iter().chain([1_100; 50])).last(),
            Some(&1),
            "within the margin"
        );
    }

    #[test]
    fn an_estimate_that_wavers_about_a_threshold_changes_the_target_once() {
        let wavering = [950, 1_050].into_iter().cycle().take(600);
        let layers = play(wavering);
        assert!(layers.iter().all(|layer| *layer == 1), "{layers:?}");
    }

    #[test]
    fn a_target_that_is_not_in_the_table_is_replaced() {
        let policy = Thresholds::frame_rates(BitRate::kilo(1_000));
        let target = policy.select(DecodeTarget::new(2, 0, 0), &EstimateHistory::new(), BitRate::kilo(700));
        assert_eq!(target, DecodeTarget::new(0, 0, 1));
    }
}
