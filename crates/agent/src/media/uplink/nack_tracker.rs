//! Missing packets of one stream, and the times to ask for them.
//!
//! A missing packet is asked for when its gap has been open for [`GRACE`] or three newer packets
//! have arrived. It is asked for again after each round trip, until it arrives, is too old or was
//! asked for often enough. A gap that is too wide to repair is left to a key frame.

use std::time::{Duration, Instant};

use wire::{SequenceNumber, Unwrapper};

use crate::limits::{MISSING_AGE_MAX, MISSING_MAX, NACKS_PER_PACKET_MAX};

/// How long packets may be out of order before that is loss.
const GRACE: Duration = Duration::from_millis(10);

/// How many newer packets make it loss at once.
const NEWER: u64 = 3;

/// The missing packets of one stream.
#[derive(Debug, Default)]
pub(super) struct NackTracker {
    unwrapper: Unwrapper,
    /// In order. Few, and looked through with each packet that arrives while there are any.
    missing: Vec<Missing>,
    /// The time from the request to the arrival of the newest packet that was asked for once.
    round_trip: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Missing {
    number: u64,
    since: Instant,
    /// The packet that showed the gap.
    behind: u64,
    asked: u8,
    asked_at: Instant,
    due: Instant,
}

impl Missing {
    /// Whether enough newer packets have arrived to ask for it without waiting.
    fn is_overdue(&self, highest: u64) -> bool {
        self.asked == 0 && highest + 1 >= self.behind + NEWER
    }
}

/// The gap that a packet reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// No new gap.
    None,
    /// Something is to be asked for at this time.
    Later(Instant),
    /// Something is to be asked for now.
    Now,
    /// More is missing than can be asked for.
    TooWide,
}

impl NackTracker {
    /// A packet arrived.
    pub(super) fn arrived(&mut self, now: Instant, sequence: u16, recovered: bool) -> Gap {
        let before = self.unwrapper.highest();
        let number = self.unwrapper.extend(sequence);
        let Some(before) = before else { return Gap::None };
        if number <= before {
            // Which of several requests was answered nobody can tell.
            let place = self.missing.binary_search_by_key(&number, |missing| missing.number);
            let filled = place
                .ok()
                .map(|place| self.missing.remove(place))
                .filter(|missing| recovered && missing.asked == 1);
            self.round_trip = filled
                .map(|missing| now.saturating_duration_since(missing.asked_at))
                .or(self.round_trip);
            return Gap::None;
        }
        let wide = (number - before) as usize + self.missing.len();
        if wide > MISSING_MAX {
            self.missing.clear();
            return Gap::TooWide;
        }
        let new = |missing| Missing {
            number: missing,
            since: now,
            behind: number,
            asked: 0,
            asked_at: now,
            due: now + GRACE,
        };
        self.missing.extend((before + 1..number).map(new));
        match self.missing.is_empty() {
            true => Gap::None,
            false if self.missing.iter().any(|missing| missing.is_overdue(number)) => Gap::Now,
            false if number == before + 1 => Gap::None,
            false => Gap::Later(now + GRACE),
        }
    }

    /// The packets to ask for now, in order, at most `room`, and the number that were given up.
    /// `again` is the time of the next request for the same packets.
    pub(super) fn due(&mut self, now: Instant, again: Duration, room: usize) -> (Vec<SequenceNumber>, u64) {
        let before = self.missing.len();
        let highest = self.unwrapper.highest().unwrap_or(0);
        let mut asked = Vec::new();
        self.missing.retain_mut(|missing| {
            if missing.asked >= NACKS_PER_PACKET_MAX || now.saturating_duration_since(missing.since) >= MISSING_AGE_MAX
            {
                return false;
            }
            if missing.due > now && !missing.is_overdue(highest) {
                return true;
            }
            if asked.len() >= room {
                return false;
            }
            missing.asked += 1;
            missing.asked_at = now;
            missing.due = now + again;
            asked.push(SequenceNumber(missing.number as u16));
            true
        });
        (asked, (before - self.missing.len()) as u64)
    }

    /// Whether a packet is missing, so that it is asked for in time.
    pub(super) fn misses(&self, sequence: u16) -> bool {
        self.missing.iter().any(|missing| missing.number as u16 == sequence)
    }

    /// The round trip measured by a retransmission, returned once.
    pub(super) fn take_round_trip(&mut self) -> Option<Duration> {
        self.round_trip.take()
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.missing.iter().map(|missing| missing.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = usize::MAX;
    const ROUND_TRIP: Duration = Duration::from_millis(100);

    fn numbers(asked: &[SequenceNumber]) -> Vec<u16> {
        asked.iter().map(|sequence| sequence.0).collect()
    }

    #[test]
    fn a_gap_is_asked_for_after_the_grace_and_again_each_round_trip() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut nack = NackTracker::default();
        for sequence in [65_533, 65_534] {
            assert_eq!(nack.arrived(at(0), sequence, false), Gap::None);
        }
        assert_eq!(nack.arrived(at(1), 1, false), Gap::Later(at(11)));
        let round_trip = Duration::from_millis(50);
        assert_eq!(nack.due(at(5), round_trip, ROOM).0, []);
        assert_eq!(numbers(&nack.due(at(11), round_trip, ROOM).0), [65_535, 0]);
        assert_eq!(nack.arrived(at(40), 65_535, false), Gap::None);
        assert_eq!(numbers(&nack.due(at(61), round_trip, ROOM).0), [0]);
        assert_eq!(nack.next(), Some(at(111)));
    }

    #[test]
    fn three_newer_packets_make_it_loss_at_once() {
        let now = Instant::now();
        let mut nack = NackTracker::default();
        assert_eq!(nack.arrived(now, 1, false), Gap::None);
        assert!(matches!(nack.arrived(now, 3, false), Gap::Later(_)));
        assert_eq!(nack.arrived(now, 4, false), Gap::None);
        assert_eq!(nack.arrived(now, 5, false), Gap::Now);
        assert_eq!(numbers(&nack.due(now, ROUND_TRIP, ROOM).0), [2]);
        assert_eq!(nack.arrived(now, 6, false), Gap::None, "asked for already");
    }

    #[test]
    fn a_missing_packet_is_given_up_after_the_last_request() {
        let start = Instant::now();
        let mut nack = NackTracker::default();
        nack.arrived(start, 1, false);
        nack.arrived(start, 3, false);
        let (mut asked, mut given_up, mut now) = (0, 0, start);
        while let Some(next) = nack.next() {
            now = next;
            let (due, gone) = nack.due(now, Duration::from_millis(20), ROOM);
            (asked, given_up) = (asked + due.len(), given_up + gone);
        }
        assert_eq!((asked, given_up), (usize::from(NACKS_PER_PACKET_MAX), 1));
        assert!(now - start < MISSING_AGE_MAX);
    }

    #[test]
    fn a_retransmission_asked_for_once_measures_the_round_trip() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut nack = NackTracker::default();
        nack.arrived(at(0), 1, false);
        nack.arrived(at(0), 5, false);
        nack.due(at(10), ROUND_TRIP, ROOM);
        nack.arrived(at(20), 2, false);
        assert_eq!(nack.take_round_trip(), None, "it was only late");
        nack.arrived(at(75), 3, true);
        assert_eq!(nack.take_round_trip(), Some(Duration::from_millis(65)));
        nack.due(at(110), ROUND_TRIP, ROOM);
        nack.arrived(at(120), 4, true);
        assert_eq!(nack.take_round_trip(), None, "asked for twice");
    }

    #[test]
    fn missing_packets_beyond_the_room_are_given_up() {
        let start = Instant::now();
        let mut nack = NackTracker::default();
        nack.arrived(start, 1, false);
        nack.arrived(start, 6, false);
        let (asked, given_up) = nack.due(start + GRACE, ROUND_TRIP, 3);
        assert_eq!((numbers(&asked), given_up), (vec![2, 3, 4], 1));
        assert!(!nack.misses(5));
    }

    #[test]
    fn a_gap_wider_than_the_limit_is_not_asked_for() {
        let now = Instant::now();
        let mut nack = NackTracker::default();
        nack.arrived(now, 1, false);
        assert_eq!(nack.arrived(now, 2 + MISSING_MAX as u16, false), Gap::TooWide);
        assert_eq!(nack.next(), None);
    }
}
