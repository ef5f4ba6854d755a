//! The one place of the program that reads a clock.

#![allow(
    clippy::disallowed_methods,
    reason = "somebody must read the clocks, and this is who"
)]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wire::NtpTime;

/// Monotonic time.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Wall-clock time since 1970.
pub(crate) fn unix() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The two clocks at one instant, for callers that are given their time.
pub(crate) struct Clocks {
    /// For the controllers.
    pub wall: controller::WallClock,
    /// For the agent and the data plane.
    pub media: dataplane::Clock,
}

impl Clocks {
    /// Reads both.
    pub(crate) fn read() -> Self {
        let (now, unix) = (now(), unix());
        Clocks {
            wall: controller::WallClock { now, unix },
            media: dataplane::Clock {
                origin: now,
                ntp: NtpTime::from_unix(unix),
            },
        }
    }
}
