//! Recent estimates.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::BitRate;
use crate::limits::HISTORY_MAX;

/// Estimates closer together than this are stored as the lowest of them, to keep the history short.
const GRAIN: Duration = Duration::from_millis(200);

/// The estimates of one receiver over the last ten seconds or more.
///
/// Only their minimum matters: quality is raised only to a rate that the estimate has not been
/// below for a while.
#[derive(Clone, Debug)]
pub struct EstimateHistory {
    past: VecDeque<Grain>,
}

#[derive(Clone, Copy, Debug)]
struct Grain {
    began: Instant,
    newest: Instant,
    lowest: BitRate,
}

impl EstimateHistory {
    /// A history without estimates.
    pub fn new() -> Self {
        Self {
            past: VecDeque::with_capacity(HISTORY_MAX),
        }
    }

    /// Adds an estimate.
    pub fn push(&mut self, now: Instant, estimate: BitRate) {
        if let Some(grain) = self.past.back_mut()
            && now < grain.began + GRAIN
        {
            grain.newest = grain.newest.max(now);
            grain.lowest = grain.lowest.min(estimate);
            return;
        }
        if self.past.len() == HISTORY_MAX {
            self.past.pop_front();
        }
        self.past.push_back(Grain {
            began: now,
            newest: now,
            lowest: estimate,
        });
    }

    /// The lowest estimate of the time that ends with the newest one. `None` while less time than
    /// that is known.
    pub fn lowest_over(&self, time: Duration) -> Option<BitRate> {
        let newest = self.past.back()?.newest;
        let mut lowest = BitRate(u64::MAX);
        for grain in self.past.iter().rev() {
            lowest = lowest.min(grain.lowest);
            if newest.saturating_duration_since(grain.began) >= time {
                return Some(lowest);
            }
        }
        None
    }
}

impl Default for EstimateHistory {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_of_a_time_is_known_once_that_time_is() {
        let began = Instant::now();
        let mut history = EstimateHistory::new();
        for (millis, estimate) in [(0, 900), (100, 300), (500, 700), (1_000, 800), (1_500, 600)] {
            history.push(began + Duration::from_millis(millis), BitRate(estimate));
        }
        assert_eq!(history.lowest_over(Duration::ZERO), Some(BitRate(600)));
        assert_eq!(history.lowest_over(Duration::from_secs(1)), Some(BitRate(600)));
        assert_eq!(history.lowest_over(Duration::from_millis(1_500)), Some(BitRate(300)));
        assert_eq!(history.lowest_over(Duration::from_secs(2)), None);
    }

    #[test]
    fn it_reaches_back_ten_seconds_however_often_estimates_come() {
        let began = Instant::now();
        let mut history = EstimateHistory::new();
        for millis in (0..60_000).step_by(20) {
            history.push(began + Duration::from_millis(millis), BitRate(1));
        }
        assert_eq!(history.past.len(), HISTORY_MAX);
        assert_eq!(history.lowest_over(Duration::from_secs(10)), Some(BitRate(1)));
    }
}
