//! Times in records.

use std::time::{Duration, Instant};

use environment::WallClock;

/// The written form of times: in microseconds since 1970-01-01 UTC, since the monotonic clock
/// restarts with the machine.
#[derive(Clone, Copy)]
pub(crate) struct Times(pub(crate) WallClock);

impl Times {
    pub(super) fn write(self, at: Instant) -> u64 {
        u64::try_from(self.0.unix(at).as_micros()).unwrap_or(u64::MAX)
    }

    pub(super) fn read(self, written: u64) -> Instant {
        // No further ahead than anything here is waited for, so that no number is too large.
        const AHEAD_MAX: Duration = Duration::from_secs(1 << 20);
        let unix = Duration::from_micros(written).min(self.0.unix + AHEAD_MAX);
        self.0.instant(unix)
    }
}
