//! Conversion between the kernel's time and instants.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// How often both are looked at.
const LOOKS: usize = 4;

/// Relates nanoseconds of the kernel's monotonic clock to instants, which use the same clock but do
/// not expose its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic {
    origin: Instant,
    nanoseconds: u64,
}

impl Monotonic {
    /// `now` is what the clock said a moment ago.
    pub(crate) fn new(now: Instant) -> Self {
        // A thread that is interrupted between the two reads gets an offset that is too small,
        // never one that is too large. The maximum is therefore the best.
        let looks = (0..LOOKS).map(|_| nanoseconds().saturating_sub(now.elapsed().as_nanos() as u64));
        Monotonic {
            origin: now,
            nanoseconds: looks.max().unwrap_or_default(),
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

/// The time of the kernel's monotonic clock.
pub(crate) fn nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every system has this clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn an_interruption_while_reading_the_clocks_does_not_skew_the_time() {
        let (early, moment) = (Instant::now(), Duration::from_millis(20));
        thread::sleep(2 * moment);
        let clock = Monotonic::new(early);
        let off = |before: Instant| clock.now().saturating_duration_since(before);
        assert!(clock.now() >= early + 2 * moment);
        let least = (0..10).map(|_| off(Instant::now())).min();
        assert!(least.is_some_and(|off| off < moment), "{least:?}");
    }
}
