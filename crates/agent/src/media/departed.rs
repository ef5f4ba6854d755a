//! Packets that left, until it is time to look at who gets them.
//!
//! What an estimator believes changes with what is said of packets, and not because they left: it must only know of them by then. To look at a receiver takes a few kilobytes
//! of what is known of it, which with many receivers are in no cache; so packets wait here for the report on them, which needs the same.

use std::time::{Duration, Instant};

use dataplane::Departure;

/// So many packets are not kept waiting, whoever reports so rarely.
const WAITING_MAX: usize = 64;
/// Nor are any for longer than this. Silence is told by what has left, and is a matter of seconds.
const WAIT_MAX: Duration = Duration::from_millis(150);

/// The packets that left on one leg and that its estimator does not know of.
#[derive(Default)]
pub(super) struct Departed {
    waiting: Vec<Departure>,
    /// Whether they may wait: while a receiver does not report, its estimate depends on when packets left.
    may_wait: bool,
}

impl Departed {
    /// Adds what left; whether it is time to tell the estimator.
    pub(super) fn add(&mut self, departures: &[Departure]) -> bool {
        self.waiting.extend_from_slice(departures);
        let is_due = |oldest: &Departure, newest: Instant| newest.saturating_duration_since(oldest.at) >= WAIT_MAX;
        let ends = self.waiting.first().zip(departures.last());
        !self.may_wait
            || self.waiting.len() >= WAITING_MAX
            || ends.is_some_and(|(oldest, newest)| is_due(oldest, newest.at))
    }

    /// Tells what waits; what comes next may wait if the receiver reports, which `tell` returns.
    pub(super) fn tell(&mut self, tell: impl FnOnce(&[Departure]) -> bool) {
        self.may_wait = tell(&self.waiting);
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(at: Instant) -> [Departure; 1] {
        [Departure {
            at,
            transport_sequence: 0,
            size: 1_000,
            probe: None,
        }]
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs some instant")]
    fn packets_wait_for_who_reports_and_not_for_long() {
        let (mut departed, now) = (Departed::default(), Instant::now());
        assert!(departed.add(&left(now)), "nobody reports");
        departed.tell(|packets| packets.len() == 1);
        assert!(!departed.add(&left(now)));
        assert!(!departed.add(&left(now + WAIT_MAX / 2)));
        assert!(departed.add(&left(now + WAIT_MAX)));
        departed.tell(|packets| packets.len() == 3);
        assert!((1..WAITING_MAX).all(|_| !departed.add(&left(now))));
        assert!(departed.add(&left(now)));
    }
}
