//! The kernel's time and ours.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Relates nanoseconds of the kernel's monotonic clock to instants, which are of the same clock but do not say so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic {
    origin: Instant,
    nanoseconds: u64,
}

impl Monotonic {
    /// `now` is what both clocks say now.
    pub(crate) fn new(now: Instant) -> Self {
        Monotonic {
            origin: now,
            nanoseconds: nanoseconds(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.instant(nanoseconds())
    }

    pub(crate) fn instant(&self, nanoseconds: u64) -> Instant {
        match nanoseconds.checked_sub(self.nanoseconds) {
            Some(since) => self.origin + Duration::from_nanos(since),
            None => {
                let before = Duration::from_nanos(self.nanoseconds - nanoseconds);
                self.origin.checked_sub(before).unwrap_or(self.origin)
            }
        }
    }
}

/// What the kernel's monotonic clock shows.
pub(crate) fn nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every system has this clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}
