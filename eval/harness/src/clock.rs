//! The two clocks of the bench, read here and nowhere else.

#![expect(clippy::disallowed_methods, reason = "a bench is a program: it owns its clock")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Now, for deadlines.
pub fn now() -> Instant {
    Instant::now()
}

/// Now, in nanoseconds since 1970: the clock by which the kernel stamps arrivals.
pub fn wall_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_nanos() as u64
}
