//! The numbers that the switch gives a replica's packets, as far as it has reported them.
//!
//! The switch reports each change of the offset between the source's numbers and the replica's,
//! and the first of each 64 numbers of the source. So a NACK can be translated into the source's
//! numbers, and a bound for the next number is known.
//!
//! Source: Scallop section 5.3, which leaves the translation open.

use std::collections::VecDeque;
use std::time::Instant;

use dataplane::ReplicaSnapshot;
use wire::Codec;
use wire::codec::Layer;

/// So many changes of the offset are kept.
const HISTORY_MAX: usize = 256;

/// A packet so far before the newest one is not asked for: it is older than those that its
/// publisher keeps.
const AGE_MAX: u16 = 1_024;

/// So many numbers after the last reported one may have been used while the switch was written:
/// 64 until the next report, and those of the packets and reports on their way.
pub(super) const SLACK: u16 = 512;

/// The same if the switch was lost: it goes on until its lease is over, at up to 1,900 packets a
/// second. The next number is less than `MAX_DROPOUT` after the last, because a receiver drops the
/// first packet after a longer gap (RFC 3550 appendix A.1).
pub(super) const SLACK_LOST: u16 = MAX_DROPOUT - 2;

/// The gap of numbers from which on a receiver takes its source for one that has restarted
/// (RFC 3550 appendix A.1).
const MAX_DROPOUT: u16 = 3_000;

/// A report of the switch about one packet of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    /// Its number at the source,
    pub source: u16,
    /// and as it was sent.
    pub sent: u16,
    /// The number of its frame, as sent, if it has one.
    pub frame: u16,
    /// The highest layer that the replica gets.
    pub layer: Layer,
    /// Its RTP timestamp, as sent.
    pub timestamp: Option<u32>,
    /// The picture id and TL0PICIDX in its payload, if that is VP8.
    pub picture: Option<(u16, u8)>,
}

/// The known numbers of one replica.
#[derive(Debug)]
pub(super) struct Numbers {
    /// The state it was started with.
    from: ReplicaSnapshot,
    /// The source's number from which on an offset holds, and the offset; the newest last.
    offsets: VecDeque<(u16, u16)>,
    newest: Option<(Report, Instant)>,
    codec: Option<Codec>,
    is_described: bool,
}

impl Numbers {
    /// Of a replica that the switch continues from this state.
    pub(super) fn new(from: ReplicaSnapshot, codec: Option<Codec>, is_described: bool) -> Self {
        Numbers {
            from,
            offsets: VecDeque::new(),
            newest: None,
            codec,
            is_described,
        }
    }

    /// Timestamp units in a second.
    fn clock_rate(&self) -> u32 {
        self.codec.map_or(90_000, Codec::clock_rate)
    }

    /// Whether it has begun.
    pub(super) fn is_begun(&self) -> bool {
        self.newest.is_some()
    }

    /// The highest layer it gets, if it has begun.
    pub(super) fn layer(&self) -> Option<Layer> {
        self.newest.map(|(newest, _)| newest.layer)
    }

    /// Takes in a report.
    pub(super) fn report(&mut self, now: Instant, report: Report) {
        let offset = report.source.wrapping_sub(report.sent);
        let is_new = self
            .newest
            .is_none_or(|(newest, _)| is_after(report.source, newest.source));
        if self.offsets.back().is_none_or(|(_, last)| *last != offset) && is_new {
            self.offsets.push_back((report.source, offset));
            if self.offsets.len() > HISTORY_MAX {
                self.offsets.pop_front();
            }
        }
        if is_new {
            self.newest = Some((report, now));
        }
    }

    /// The source's numbers for some of the replica's, as far as they are known.
    pub(super) fn of_source(&self, sequences: &[u16]) -> Vec<u16> {
        let Some((newest, _)) = self.newest else {
            return Vec::new();
        };
        let found = sequences.iter().filter_map(|sequence| {
            // Of a number that was left out the offset after it is not valid, nor the one before.
            let mut until = newest.source.wrapping_add(AGE_MAX);
            self.offsets.iter().rev().find_map(|(from, offset)| {
                let source = sequence.wrapping_add(*offset);
                let is_within = !is_after(*from, source) && is_after(until, source);
                until = *from;
                is_within.then_some(source)
            })
        });
        let is_recent = |source: &u16| !is_after(newest.source.wrapping_sub(AGE_MAX), *source);
        let mut found: Vec<u16> = found.filter(is_recent).collect();
        found.dedup();
        found
    }

    /// The state from which the base continues with a key frame, so many numbers later.
    pub(super) fn snapshot(&self, now: Instant, slack: u16) -> ReplicaSnapshot {
        let from = ReplicaSnapshot {
            source: None,
            decided: None,
            ..self.from
        };
        let Some((newest, at)) = self.newest else {
            return ReplicaSnapshot {
                next: from.next.wrapping_add(slack),
                frame: from.frame.map(|frame| frame.wrapping_add(slack)),
                ..from
            };
        };
        // Timestamps advance with the clock, whatever the numbers do.
        let elapsed = now.saturating_duration_since(at).as_micros() * u128::from(self.clock_rate()) / 1_000_000;
        let timestamp = newest.timestamp.unwrap_or(from.last.0).wrapping_add(elapsed as u32);
        // A picture has at least one packet, too.
        let (picture, tl0) = match newest.picture.filter(|_| self.codec == Some(Codec::Vp8)) {
            Some((picture, tl0)) => (picture.wrapping_add(slack), tl0.wrapping_add(slack as u8)),
            None => (from.last.1, from.last.2),
        };
        ReplicaSnapshot {
            newest: newest.source,
            next: newest.sent.wrapping_add(1).wrapping_add(slack),
            layer: newest.layer,
            last: (timestamp, picture, tl0),
            // A frame has at least one packet.
            frame: self.is_described.then(|| newest.frame.wrapping_add(slack)),
            ..from
        }
    }
}

/// Whether one number is after another.
fn is_after(one: u16, other: u16) -> bool {
    (one.wrapping_sub(other) as i16) > 0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn report(source: u16, sent: u16) -> Report {
        Report {
            source,
            sent,
            frame: source / 4,
            layer: Layer {
                spatial: 0,
                temporal: 2,
            },
            timestamp: Some(u32::from(source) * 750),
            picture: Some((source, 250)),
        }
    }

    fn numbers(reports: &[(u16, u16)]) -> (Numbers, Instant) {
        let now = Instant::now();
        let mut numbers = Numbers::new(ReplicaSnapshot::default(), Some(Codec::Av1), true);
        for (source, sent) in reports {
            numbers.report(now, report(*source, *sent));
        }
        (numbers, now)
    }

    #[test]
    fn numbers_are_translated_by_the_offset_that_held() {
        // From 110 on one packet is left out, from 120 on three more, across the end of 16 bits.
        let (numbers, _) = numbers(&[(100, 65_530), (110, 3), (128, 21), (140, 30)]);
        assert_eq!(numbers.of_source(&[65_530, 65_535, 2]), [100, 105, 108]);
        assert_eq!(numbers.of_source(&[3, 21, 29]), [110, 128, 136]);
        assert_eq!(
            numbers.of_source(&[30, 40]),
            [140, 150],
            "after the newest report it holds until the next"
        );
        assert!(numbers.of_source(&[65_529]).is_empty(), "it is from before");
    }

    #[test]
    fn old_packets_are_not_asked_for() {
        let (numbers, _) = numbers(&[(100, 0), (2_000, 1_900)]);
        assert_eq!(numbers.of_source(&[100, 876, 1_000]), [976, 1_100]);
    }

    #[test]
    fn the_history_is_bounded() {
        let reports: Vec<(u16, u16)> = (0..1_000).map(|place| (place * 2, place)).collect();
        let (numbers, _) = numbers(&reports);
        assert_eq!(numbers.offsets.len(), HISTORY_MAX);
    }

    #[test]
    fn a_late_report_changes_nothing() {
        let (mut numbers, now) = numbers(&[(100, 0), (200, 90)]);
        numbers.report(now, report(150, 50));
        assert_eq!(numbers.offsets, [(100, 100), (200, 110)]);
        assert_eq!(numbers.newest.unwrap().0.source, 200);
    }

    #[test]
    fn the_base_continues_after_all_numbers_that_may_have_been_used() {
        let (numbers, now) = numbers(&[(100, 65_500)]);
        let snapshot = numbers.snapshot(now + Duration::from_millis(100), SLACK);
        assert_eq!(snapshot.source, None);
        assert_eq!(snapshot.next, 65_501_u16.wrapping_add(SLACK));
        assert_eq!(snapshot.last.0, 75_000 + 9_000);
        assert_eq!(snapshot.frame, Some(25 + SLACK));

        let from = ReplicaSnapshot {
            next: 7,
            source: None,
            ..ReplicaSnapshot::default()
        };
        let silent = Numbers::new(from, Some(Codec::Opus), false).snapshot(now, SLACK_LOST);
        assert_eq!((silent.next, silent.frame), (7 + SLACK_LOST, None));
    }

    #[test]
    fn the_gap_after_a_lost_switch_is_a_loss_to_receivers() {
        let (numbers, now) = numbers(&[(100, 65_500)]);
        let next = numbers.snapshot(now, SLACK_LOST).next;
        assert_eq!(next.wrapping_sub(65_500), MAX_DROPOUT - 1);
        // 1,900 packets a second while a lease may hold, and 64 that are not reported yet.
        assert!(1_900 * 3 / 2 + 64 < u32::from(SLACK_LOST));
    }

    #[test]
    fn picture_ids_of_vp8_continue_after_the_last_that_may_have_been_sent() {
        let now = Instant::now();
        let mut numbers = Numbers::new(ReplicaSnapshot::default(), Some(Codec::Vp8), false);
        numbers.report(now, report(640, 100));
        let (_, picture, tl0) = numbers.snapshot(now, SLACK).last;
        assert_eq!((picture, tl0), (640 + SLACK, 250));
        numbers.report(now, report(704, 164));
        assert_eq!(numbers.snapshot(now, 7).last.2, 1, "one byte");
    }
}
