//! Real-time priority of lightly loaded workers.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::socket::check;
use super::thread_cpu::ThreadCpuClock;

/// How often the load of a worker is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(100);
/// A worker that uses less than this share of a processor runs at real-time priority.
const LIGHT_LOAD: f64 = 0.3;
/// A worker that uses more than this share gives it up, so that it cannot starve the agent and
/// other programs.
const HEAVY_LOAD: f64 = 0.5;
/// The lowest real-time priority: above every ordinary thread, below threads that an operator gives
/// a higher one.
const PRIORITY: i32 = 1;

/// The real-time priority of the calling thread (SCHED_RR). With it the kernel runs a thread as
/// soon as it is woken. Without it a packet waits for the time slices of other threads, among them
/// those of receivers on the same machine that a run has woken.
#[derive(Debug)]
pub(crate) struct RealtimePriority {
    /// Whether it is configured, and was not refused.
    wanted: bool,
    has: bool,
    /// Whether the thread was lightly loaded as of the last measurement.
    is_lightly_loaded: bool,
    /// The last measurement: its time, and the processor time used until then.
    measured: Option<(Instant, Duration)>,
}

impl RealtimePriority {
    pub(crate) fn new(wanted: bool) -> Self {
        RealtimePriority {
            wanted,
            has: false,
            is_lightly_loaded: false,
            measured: None,
        }
    }

    /// Measures the load if it is time, and takes or gives up the priority. A refused priority is
    /// not requested again.
    pub(crate) fn measure(&mut self, now: Instant) {
        let is_soon = |(at, _): (Instant, Duration)| now.saturating_duration_since(at) < MEASURE_EVERY;
        if self.measured.is_some_and(is_soon) {
            return;
        }
        let used = ThreadCpuClock::own().used();
        let Some((at, before)) = self.measured.replace((now, used)) else {
            return;
        };
        let passed = now.saturating_duration_since(at).as_secs_f64();
        self.is_lightly_loaded = is_light(
            self.is_lightly_loaded,
            used.saturating_sub(before).as_secs_f64() / passed,
        );
        if self.wanted && self.is_lightly_loaded != self.has {
            match set(self.is_lightly_loaded) {
                Ok(()) => self.has = self.is_lightly_loaded,
                Err(_) => self.wanted = false,
            }
        }
    }

    /// Whether the thread is lightly loaded: it may wait for more packets.
    pub(crate) fn is_lightly_loaded(&self) -> bool {
        self.is_lightly_loaded
    }

    /// Whether threads of this process may have it, which a short-lived thread tries.
    pub(crate) fn is_permitted() -> bool {
        thread::spawn(|| set(true).is_ok()).join().unwrap_or(false)
    }
}

/// Whether this share of a processor is a light load, with hysteresis.
fn is_light(has: bool, share: f64) -> bool {
    share < if has { HEAVY_LOAD } else { LIGHT_LOAD }
}

/// Sets the scheduling policy of the calling thread: SCHED_RR or SCHED_OTHER.
fn set(realtime: bool) -> io::Result<()> {
    let (policy, priority) = match realtime {
        true => (libc::SCHED_RR, PRIORITY),
        false => (libc::SCHED_OTHER, 0),
    };
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: a structure of ours, which lives as long as the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) }).map(drop)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
mod tests {
    use super::*;

    fn policy() -> i32 {
        // SAFETY: takes a number only.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn light_load_has_hysteresis() {
        let shares = [0.0, 0.4, 0.6, 0.4, 0.2];
        let mut first = false;
        let seen = shares.map(|share| {
            first = is_light(first, share);
            first
        });
        assert_eq!(seen, [true, true, false, false, true]);
    }

    #[test]
    fn an_idle_thread_runs_at_realtime_priority_where_permitted() {
        let permitted = RealtimePriority::is_permitted();
        assert_eq!(policy(), libc::SCHED_OTHER, "asking leaves nothing behind");
        let (mut realtime, start) = (RealtimePriority::new(true), Instant::now());
        realtime.measure(start);
        assert_eq!(policy(), libc::SCHED_OTHER, "nothing is known yet");
        realtime.measure(start + MEASURE_EVERY);
        let expected = if permitted { libc::SCHED_RR } else { libc::SCHED_OTHER };
        assert_eq!(policy(), expected);
        // As if no time had passed while this ran.
        let begun = ThreadCpuClock::own().used();
        while ThreadCpuClock::own().used() < begun + MEASURE_EVERY {}
        realtime.measure(start + 2 * MEASURE_EVERY);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_thread_that_is_not_configured_keeps_its_policy() {
        let (mut realtime, start) = (RealtimePriority::new(false), Instant::now());
        (0..3).for_each(|look| realtime.measure(start + MEASURE_EVERY * look));
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}
