//! Timers.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::StreamKey;
use southbound::{SubscriptionId, TrackId, TransportId};

use crate::map::Map;

/// A thing that is due at a time. Each has one time at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Consent, handshake and SCTP of one transport.
    Transport(TransportId),
    /// Asking the data plane for the counts in the reports on one transport.
    Reports(TransportId),
    /// Sending them.
    ReportsReady(TransportId),
    /// Transport-wide feedback to one publisher.
    Feedback(TransportId),
    /// The estimator of one receiver's downlink.
    Estimate(TransportId),
    /// Dividing one receiver's downlink again.
    Allocate(TransportId),
    /// Repeated packets for one receiver.
    Copies(TransportId),
    /// Something in place of media that does not come.
    Fill(SubscriptionId),
    /// Retransmissions to ask for on one stream.
    Nack(StreamKey),
    /// A key frame still owed to somebody on one stream.
    KeyFrame(StreamKey),
    /// Whether a track's encodings still arrive.
    Activity(TrackId),
    /// The end of a track whose publisher has closed its transport.
    Abandoned(TrackId),
    /// Audio levels.
    Audio,
    /// Consent and handshake of the party at one port of a relayed call.
    Relay(SocketAddr),
}

/// Times, each with what is due then; equal times in the order of [`Timer`], so that a history
/// replays exactly.
///
/// Most timers are put off again and again before they fire. One that is put off stays listed where
/// it was, and is listed anew when that time comes.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// When to look at what: once for each timer, at its time or before.
    listed: BTreeSet<(Instant, Timer)>,
    due: Map<Timer, Due>,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    /// The time that it is listed under.
    listed: Instant,
}

impl Timers {
    /// Makes `timer` due at `at`, and not when it was due before.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        match self.due.get_mut(&timer) {
            Some(due) if due.listed <= at => due.at = at,
            known => {
                if let Some(due) = known {
                    self.listed.remove(&(due.listed, timer));
                }
                self.listed.insert((at, timer));
                self.due.insert(timer, Due { at, listed: at });
            }
        }
    }

    /// Makes `timer` due at `at` unless it is due earlier.
    pub(crate) fn set_by(&mut self, timer: Timer, at: Instant) {
        if self.due.get(&timer).is_none_or(|due| due.at > at) {
            self.set(timer, at);
        }
    }

    /// `timer` is not due any more.
    pub(crate) fn clear(&mut self, timer: Timer) {
        if let Some(due) = self.due.remove(&timer) {
            self.listed.remove(&(due.listed, timer));
        }
    }

    /// When to [`pop`](Self::pop) next. Nothing is due before, and perhaps nothing is then.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.listed.first().map(|(at, _)| *at)
    }

    /// Takes the earliest of what is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Timer> {
        loop {
            let (listed, timer) = *self.listed.first()?;
            if listed > now {
                return None;
            }
            self.listed.remove(&(listed, timer));
            let due = self.due.get_mut(&timer).expect("a listed timer has a time");
            if due.at == listed {
                self.due.remove(&timer);
                return Some(timer);
            }
            due.listed = due.at;
            self.listed.insert((due.at, timer));
        }
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
        assert_eq!(timers.pop(at(19)), None);
        assert_eq!(timers.next(), Some(at(20)));
        assert_eq!(timers.pop(at(40)), Some(Timer::Reports(TransportId(1))));
        assert_eq!(timers.pop(at(40)), Some(Timer::Audio));
        assert_eq!((timers.pop(at(40)), timers.next()), (None, None));
    }

    #[test]
    fn moved_timers_fire_in_order() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let (first, second) = (Timer::Reports(TransportId(1)), Timer::Reports(TransportId(2)));
        let mut timers = Timers::default();
        timers.set(first, at(10));
        timers.set(second, at(20));
        timers.set(first, at(30));
        timers.set(first, at(25));
        timers.set(Timer::Audio, at(50));
        timers.set(Timer::Audio, at(5));
        let fired: Vec<_> = std::iter::from_fn(|| timers.pop(at(40))).collect();
        assert_eq!(fired, [Timer::Audio, second, first]);
        timers.set(first, at(60));
        timers.set(first, at(70));
        timers.clear(first);
        assert_eq!((timers.next(), timers.pop(at(100))), (None, None));
    }
}
