//! What is to be done when.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use dataplane::StreamKey;
use southbound::{TrackId, TransportId};

/// A thing that is due at a time. Each has one time at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Consent, handshake and SCTP of one transport.
    Transport(TransportId),
    /// Asking the data plane for what the reports on one transport say.
    Reports(TransportId),
    /// Sending them.
    ReportsReady(TransportId),
    /// Transport-wide feedback to one publisher.
    Feedback(TransportId),
    /// What the estimator of one receiver's downlink is to do.
    Estimate(TransportId),
    /// Dividing one receiver's downlink anew.
    Allocate(TransportId),
    /// Retransmissions to ask for on one stream.
    Repair(StreamKey),
    /// A key frame still owed to somebody on one stream.
    KeyFrame(StreamKey),
    /// Whether a track's encodings still arrive.
    Activity(TrackId),
    /// What was heard.
    Audio,
}

/// Times, each with what is due then; equal times in the order of [`Timer`], so that a history replays exactly.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(Instant, Timer)>,
    at: HashMap<Timer, Instant>,
}

impl Timers {
    /// Makes `timer` due at `at`, and not when it was due before.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.clear(timer);
        self.due.insert((at, timer));
        self.at.insert(timer, at);
    }

    /// Makes `timer` due at `at` unless it is due earlier.
    pub(crate) fn set_by(&mut self, timer: Timer, at: Instant) {
        if self.at.get(&timer).is_none_or(|earlier| *earlier > at) {
            self.set(timer, at);
        }
    }

    /// `timer` is not due any more.
    pub(crate) fn clear(&mut self, timer: Timer) {
        if let Some(at) = self.at.remove(&timer) {
            self.due.remove(&(at, timer));
        }
    }

    /// The earliest time.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes the earliest of what is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Timer> {
        let (at, timer) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.clear(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_timer_fires_once_at_its_newest_time() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut timers = Timers::default();
        timers.set(Timer::Audio, at(10));
        timers.set(Timer::Reports(TransportId(1)), at(20));
        timers.set(Timer::Audio, at(30));
        timers.set_by(Timer::Reports(TransportId(1)), at(25));
        assert_eq!(timers.next(), Some(at(20)));
        assert_eq!(timers.pop(at(19)), None);
        assert_eq!(timers.pop(at(40)), Some(Timer::Reports(TransportId(1))));
        assert_eq!(timers.pop(at(40)), Some(Timer::Audio));
        assert_eq!((timers.pop(at(40)), timers.next()), (None, None));
    }
}
