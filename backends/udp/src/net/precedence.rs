//! Going before everybody else on the machine, as long as one takes little.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::socket::check;
use super::thread_time::ThreadTime;

/// How often it is looked at how much a worker takes.
const LOOK: Duration = Duration::from_millis(100);
/// One that takes less than this part of a processor goes first,
const LITTLE: f64 = 0.3;
/// and one that takes more than this does no longer. It is late by its own work then, and what
/// decides about media, and whoever else is there, needs a part.
const MUCH: f64 = 0.5;
/// The least of those the kernel lets in at once: above every ordinary thread, below whatever an
/// operator finds more urgent.
const PRIORITY: i32 = 1;

/// Whether the calling thread is one that the kernel lets in as soon as it has something to do, in
/// the place of whoever runs. A packet otherwise waits for others' turns, and a run that wakes its
/// receiver on this machine for the receiver's.
#[derive(Debug)]
pub(crate) struct Precedence {
    /// Whether it may be asked for.
    wanted: bool,
    has: bool,
    /// Whether the thread took little of its processor, as of the last look.
    is_little: bool,
    /// When it was looked at last, and what the thread had used by then.
    looked: Option<(Instant, Duration)>,
}

impl Precedence {
    pub(crate) fn new(wanted: bool) -> Self {
        Precedence {
            wanted,
            has: false,
            is_little: false,
            looked: None,
        }
    }

    /// Takes or leaves it, if it is time to look. Where it is refused it is not asked for again.
    pub(crate) fn look(&mut self, now: Instant) {
        let is_soon = |(at, _): (Instant, Duration)| now.saturating_duration_since(at) < LOOK;
        if self.looked.is_some_and(is_soon) {
            return;
        }
        let used = ThreadTime::own().used();
        let Some((at, before)) = self.looked.replace((now, used)) else {
            return;
        };
        let passed = now.saturating_duration_since(at).as_secs_f64();
        self.is_little = goes_first(self.is_little, used.saturating_sub(before).as_secs_f64() / passed);
        if self.wanted && self.is_little != self.has {
            match set(self.is_little) {
                Ok(()) => self.has = self.is_little,
                Err(_) => self.wanted = false,
            }
        }
    }

    /// Whether the thread takes little of its processor: it may wait for more to do.
    pub(crate) fn is_little(&self) -> bool {
        self.is_little
    }

    /// Whether threads of this process may have it. One finds out and ends.
    pub(crate) fn is_permitted() -> bool {
        thread::spawn(|| set(true).is_ok()).join().unwrap_or(false)
    }
}

/// Whether somebody who takes this share of a processor goes first.
fn goes_first(has: bool, share: f64) -> bool {
    share < if has { MUCH } else { LITTLE }
}

/// Has the kernel let the calling thread in at once, or by turns as others.
fn set(first: bool) -> io::Result<()> {
    let (policy, priority) = match first {
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
    fn who_takes_little_goes_first_and_who_takes_much_does_not() {
        let shares = [0.0, 0.4, 0.6, 0.4, 0.2];
        let mut first = false;
        let seen = shares.map(|share| {
            first = goes_first(first, share);
            first
        });
        assert_eq!(seen, [true, true, false, false, true]);
    }

    #[test]
    fn a_thread_that_sleeps_is_let_in_at_once_where_that_is_permitted() {
        let permitted = Precedence::is_permitted();
        assert_eq!(policy(), libc::SCHED_OTHER, "asking leaves nothing behind");
        let (mut precedence, start) = (Precedence::new(true), Instant::now());
        precedence.look(start);
        assert_eq!(policy(), libc::SCHED_OTHER, "nothing is known yet");
        precedence.look(start + LOOK);
        let expected = if permitted { libc::SCHED_RR } else { libc::SCHED_OTHER };
        assert_eq!(policy(), expected);
        // As if no time had passed while this ran.
        let begun = ThreadTime::own().used();
        while ThreadTime::own().used() < begun + LOOK {}
        precedence.look(start + 2 * LOOK);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    #[test]
    fn who_does_not_want_it_is_left_as_it_is() {
        let (mut precedence, start) = (Precedence::new(false), Instant::now());
        (0..3).for_each(|look| precedence.look(start + LOOK * look));
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}
