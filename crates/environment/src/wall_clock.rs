//! Calendar time.

use std::time::{Duration, Instant};

/// Ties the monotonic clock to the calendar: rooms and calls are reported with calendar times, and
/// tokens expire at them.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// A moment by the monotonic clock.
    pub now: Instant,
    /// The same moment since 1970-01-01 UTC.
    pub unix: Duration,
}

impl WallClock {
    /// The calendar time of `now`, since 1970-01-01 UTC.
    pub fn unix(&self, now: Instant) -> Duration {
        match now.checked_duration_since(self.now) {
            Some(later) => self.unix + later,
            None => self.unix.saturating_sub(self.now.duration_since(now)),
        }
    }

    /// The instant of this time since 1970-01-01 UTC by the monotonic clock; a time too long ago
    /// counts as now.
    pub fn instant(&self, unix: Duration) -> Instant {
        match unix.checked_sub(self.unix) {
            Some(later) => self.now + later,
            None => self.now.checked_sub(self.unix - unix).unwrap_or(self.now),
        }
    }
}
