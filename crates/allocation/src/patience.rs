//! How long quality waits before it goes up.

use std::time::{Duration, Instant};

/// A rise that does not last so long has failed.
const TRIAL: Duration = Duration::from_secs(10);
/// However often it has failed.
const HOLD_MAX: Duration = Duration::from_secs(8);
/// Without another failure for so long, all is forgotten.
const FORGET: Duration = Duration::from_secs(30);

/// The time for which the estimate must have been high enough, longer after each rise that failed.
///
/// A link whose estimate climbs until the rise it allows fills the link again would otherwise be tried every few seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    base: Duration,
    hold: Duration,
    raised: Option<Instant>,
    failed: Option<Instant>,
}

impl Patience {
    pub(crate) fn new(base: Duration) -> Self {
        Self {
            base,
            hold: base,
            raised: None,
            failed: None,
        }
    }

    pub(crate) fn hold(&mut self, now: Instant) -> Duration {
        if self.failed.is_some_and(|failed| now >= failed + FORGET) {
            *self = Self::new(self.base);
        }
        self.hold
    }

    /// Quality went up.
    pub(crate) fn rose(&mut self, now: Instant) {
        self.raised = Some(now);
    }

    /// Quality had to go down.
    pub(crate) fn fell(&mut self, now: Instant) {
        if self.raised.take().is_some_and(|raised| now < raised + TRIAL) {
            self.hold = (self.hold * 2).min(HOLD_MAX.max(self.base));
            self.failed = Some(now);
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
        let mut patience = Patience::new(Duration::from_secs(1));
        for expected in [2, 4, 8, 8] {
            patience.rose(now);
            now += Duration::from_secs(9);
            patience.fell(now);
            assert_eq!(patience.hold(now), Duration::from_secs(expected));
        }
        now += FORGET;
        assert_eq!(patience.hold(now), Duration::from_secs(1));
    }

    #[test]
    fn falling_long_after_a_rise_or_twice_after_one_is_no_further_failure() {
        let mut now = Instant::now();
        let mut patience = Patience::new(Duration::from_secs(1));
        patience.rose(now);
        now += TRIAL;
        patience.fell(now);
        assert_eq!(patience.hold(now), Duration::from_secs(1));
        patience.rose(now);
        patience.fell(now);
        patience.fell(now);
        assert_eq!(patience.hold(now), Duration::from_secs(2));
    }
}
