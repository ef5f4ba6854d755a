//! How long quality waits before it goes up.

use std::time::{Duration, Instant};

use crate::BitRate;

/// A rise that lasts less than this has failed.
const TRIAL: Duration = Duration::from_secs(10);
/// The longest hold, after any number of failures.
const HOLD_MAX: Duration = Duration::from_secs(8);
/// After this time without another failure, all failures are forgotten.
const FORGET: Duration = Duration::from_secs(30);
/// With an estimate of this multiple of the failed rate, the link has changed.
const BEYOND: f64 = 1.5;

/// The time for which the estimate must have been high enough, longer after each rise that failed.
///
/// A link whose estimate climbs until the rise it allows fills the link again would otherwise be
/// tried every few seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hysteresis {
    base: Duration,
    hold: Duration,
    raised: Option<Instant>,
    /// When a rise failed last, and the most that a failed one took.
    failed: Option<(Instant, BitRate)>,
}

impl Hysteresis {
    pub(crate) fn new(base: Duration) -> Self {
        Self {
            base,
            hold: base,
            raised: None,
            failed: None,
        }
    }

    pub(crate) fn hold(&mut self, now: Instant) -> Duration {
        if self.failed.is_some_and(|(failed, _)| now >= failed + FORGET) {
            *self = Self::new(self.base);
        }
        self.hold
    }

    /// A lower bound on the estimate and the time it must hold, so that a rise that failed is not
    /// tried again at the same rate.
    pub(crate) fn hold_beyond(&self) -> Option<(Duration, BitRate)> {
        self.failed.map(|(_, failed)| (self.base, failed.scaled(BEYOND)))
    }

    /// Quality went up.
    pub(crate) fn rose(&mut self, now: Instant) {
        self.raised = Some(now);
    }

    /// Quality was lowered, from this rate.
    pub(crate) fn fell(&mut self, now: Instant, used: BitRate) {
        if self.raised.take().is_some_and(|raised| now < raised + TRIAL) {
            self.hold = (self.hold * 2).min(HOLD_MAX.max(self.base));
            let most = self.failed.map_or(used, |(_, before)| before.max(used));
            self.failed = Some((now, most));
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test needs some instant to begin at")]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_wait_until_none_comes_for_a_while() {
        let mut now = Instant::now();
        let mut hysteresis = Hysteresis::new(Duration::from_secs(1));
        for expected in [2, 4, 8, 8] {
            hysteresis.rose(now);
            now += Duration::from_secs(9);
            hysteresis.fell(now, BitRate(1_000));
            assert_eq!(hysteresis.hold(now), Duration::from_secs(expected));
            assert_eq!(hysteresis.hold_beyond(), Some((Duration::from_secs(1), BitRate(1_500))));
        }
        now += FORGET;
        assert_eq!(hysteresis.hold(now), Duration::from_secs(1));
    }

    #[test]
    fn falling_long_after_a_rise_or_twice_after_one_is_no_further_failure() {
        let mut now = Instant::now();
        let mut hysteresis = Hysteresis::new(Duration::from_secs(1));
        hysteresis.rose(now);
        now += TRIAL;
        hysteresis.fell(now, BitRate(1_000));
        assert_eq!(hysteresis.hold(now), Duration::from_secs(1));
        hysteresis.rose(now);
        hysteresis.fell(now, BitRate(1_000));
        hysteresis.fell(now, BitRate(1_000));
        assert_eq!(hysteresis.hold(now), Duration::from_secs(2));
    }
}
