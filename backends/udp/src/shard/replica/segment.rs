//! The mapping between a stream's numbers and a replica's.

use std::time::Instant;

use dataplane::ReplicaSnapshot;
use dataplane::limits::{ALIGNMENT_MAX_SECONDS, REORDER_MAX};
use wire::NtpTime;

use crate::replay_window::RecentBits;
use crate::shard::packet::PacketInfo;
use crate::shard::packet::vp8::Vp8Ids;
use crate::shard::replica::frame_numbering::FrameNumbering;

/// A period in which a replica follows one stream.
///
/// Within it a packet that is not sent leaves no gap, a packet that did not arrive leaves a gap,
/// and a late packet takes the number that was left for it. The state is one running shift and one
/// bit for each of the newest numbers: the shift is right for the newest packet, and a late one
/// adds back the packets that were closed up after it.
///
/// Shape: extended source numbers in, extended replica numbers out.
/// Source: RFC 3550 section 5.1.
#[derive(Debug)]
pub(crate) struct Segment {
    /// Source number of the first packet.
    first: u64,
    /// Source number of the newest packet, sent or not.
    newest: u64,
    /// Replica's number minus source's, modulo 2^64, for the newest packet.
    shift: u64,
    closed: RecentBits,
    /// The numbering by frames, if it is used instead.
    pub(crate) frame_numbering: Option<Box<FrameNumbering>>,
    pub(crate) offsets: Offsets,
    /// The newest packet that was sent.
    pub(crate) last: Last,
}

/// The newest sent packet, as the receiver saw it, from which the next segment continues. It may
/// have arrived late, if the packets after it were not sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Last {
    /// Its source number.
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) capture: Option<NtpTime>,
    pub(crate) timestamp: u32,
    pub(crate) vp8: Vp8Ids,
    /// The newest frame number of all, where packets have one.
    pub(crate) frame: Option<u16>,
}

/// The offsets of a source's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offsets {
    /// To its timestamps.
    pub(crate) timestamp: u32,
    /// To VP8's picture id and TL0PICIDX, but for pictures held back.
    pub(crate) vp8: Vp8Ids,
    /// To the dependency descriptor's frame numbers.
    pub(crate) frame: u16,
}

impl Segment {
    /// A segment whose first packet, still to be accounted for, has these numbers.
    pub(crate) fn start(first: u64, egress_first: u64, offsets: Offsets, last: Last) -> Self {
        Segment {
            first,
            newest: first - 1,
            shift: egress_first.wrapping_sub(first),
            closed: RecentBits::new(),
            frame_numbering: None,
            offsets,
            last,
        }
    }

    /// The same segment, numbered by frames if `frame_numbering` is given.
    pub(crate) fn numbered(self, frame_numbering: Option<Box<FrameNumbering>>) -> Self {
        Segment {
            frame_numbering,
            ..self
        }
    }

    /// The end of what another device sent.
    pub(crate) fn behind(from: &ReplicaSnapshot, now: Instant) -> Self {
        let (timestamp, picture, tl0) = from.last;
        let first = 1 << 16;
        let offsets = Offsets {
            timestamp: from.timestamp_offset,
            ..Offsets::default()
        };
        let last = Last {
            number: first - 1,
            at: now,
            capture: None,
            timestamp,
            vp8: Vp8Ids { picture, tl0 },
            frame: from.frame,
        };
        Segment::start(first, (1 << 16) + u64::from(from.next), offsets, last)
    }

    /// Whether a packet is from before the segment.
    pub(crate) fn starts_behind(&self, source: u64) -> bool {
        source < self.first
    }

    /// Takes account of a packet of the segment that is sent (or lost on the way out) or closed up.
    pub(crate) fn account(&mut self, source: u64, sent: bool) {
        if source <= self.newest {
            return;
        }
        self.closed.renew(self.newest, source);
        self.newest = source;
        if !sent {
            self.closed.set(source);
            self.shift = self.shift.wrapping_sub(1);
        }
    }

    /// The replica's number for a source number of this segment that was not closed up.
    pub(crate) fn number(&self, source: u64) -> u64 {
        if source == self.newest {
            return source.wrapping_add(self.shift);
        }
        let from = source.max(self.oldest());
        source
            .wrapping_add(self.shift)
            .wrapping_add(self.closed.count(from, self.newest))
    }

    /// Source number of the newest packet, sent or not.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// The first number after this segment.
    pub(crate) fn next(&self) -> u64 {
        if let Some(frame_numbering) = &self.frame_numbering {
            return frame_numbering.next();
        }
        (self.newest + 1).wrapping_add(self.shift)
    }

    /// The source's number for one of the replica's newest, the inverse of
    /// [`number`](Self::number).
    pub(crate) fn source(&self, number: u64) -> Option<u64> {
        if let Some(frame_numbering) = &self.frame_numbering {
            return frame_numbering.source(number);
        }
        let behind = self.next().wrapping_sub(1).wrapping_sub(number);
        if behind >= REORDER_MAX || self.newest < self.first {
            return None;
        }
        self.closed.nth_clear_down(self.newest, self.oldest(), behind)
    }

    /// The extended number that the 16 bits of a NACK mean: the nearest to the highest.
    pub(crate) fn extend(&self, sequence: u16) -> u64 {
        let highest = self.next().wrapping_sub(1);
        highest.wrapping_add_signed(i64::from(sequence.wrapping_sub(highest as u16) as i16))
    }

    fn oldest(&self) -> u64 {
        self.first.max(self.newest.saturating_sub(REORDER_MAX - 1))
    }
}

/// The offset that continues frame numbers: zero where they continue already, as between the
/// encodings of a sender that numbers their frames together.
pub(super) fn frame_offset(last: Option<u16>, first: Option<u16>) -> u16 {
    match last.zip(first) {
        Some((last, first)) if first.wrapping_sub(last) as i16 <= 0 => last.wrapping_add(1).wrapping_sub(first),
        _ => 0,
    }
}

/// Timestamp units between the last packet of one segment and the first of the next: at least one.
///
/// By the senders' wall clocks if both packets have a sender report and the difference is
/// plausible; otherwise by their arrival times.
pub(super) fn ticks_between(last: &Last, first: &PacketInfo) -> u32 {
    let rate = i128::from(first.codec.clock_rate());
    let captured = last
        .capture
        .zip(first.capture)
        .map(|(last, first)| first.0.wrapping_sub(last.0) as i64);
    let believed = captured.filter(|elapsed| elapsed.unsigned_abs() >> 32 < ALIGNMENT_MAX_SECONDS as u64);
    let ticks = match believed {
        Some(elapsed) => (i128::from(elapsed) * rate) >> 32,
        None => first.at.saturating_duration_since(last.at).as_nanos() as i128 * rate / 1_000_000_000,
    };
    ticks.max(1) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rewriting::{Cadence, Exact, FramePacket, Rewriter};

    use super::*;

    fn segment(first: u64, egress_first: u64) -> Segment {
        let last = Last {
            number: first - 1,
            at: Instant::now(),
            capture: None,
            timestamp: 0,
            vp8: Vp8Ids::default(),
            frame: None,
        };
        Segment::start(first, egress_first, Offsets::default(), last)
    }

    proptest! {
        /// Compared with a whole history of closed-up packets and their order of arrival.
        #[test]
        fn numbers_are_those_of_a_full_history(
            first in 66_000u64..70_000,
            egress_first in 65_536u64..98_304,
            steps in prop::collection::vec((-1_020i64..40, any::<bool>()), 1..400),
        ) {
            let mut segment = segment(first, egress_first);
            let (mut newest, mut history) = (first - 1, BTreeMap::new());
            for (step, sent) in steps {
                // The first packet of a segment is always sent.
                let (source, sent) = match history.is_empty() {
                    true => (first, true),
                    false => (newest.wrapping_add_signed(step), sent),
                };
                prop_assert_eq!(segment.starts_behind(source), source < first);
                segment.account(source, sent);
                if source > newest {
                    newest = source;
                    history.insert(source, sent);
                }
                let closed = |upto: u64| history.range(..upto).filter(|(_, sent)| !**sent).count() as u64;
                let number = |source: u64| egress_first + (source - first) - closed(source);
                prop_assert_eq!(segment.next(), number(newest + 1));
                if source >= first && history.get(&source) != Some(&false) {
                    prop_assert_eq!(segment.number(source), number(source));
                    prop_assert_eq!(segment.source(number(source)), Some(source));
                    prop_assert_eq!(segment.extend(number(source) as u16), number(source));
                }
                prop_assert_eq!(segment.source(number(newest + 1)), None);
            }
        }

        /// The rule is `Exact`'s, which has been measured and compared with others.
        #[test]
        fn numbers_are_those_of_the_exact_rewriter(
            egress_first: u16,
            steps in prop::collection::vec((-1_020i64..40, any::<bool>()), 1..400),
        ) {
            let first = 70_000;
            let packet = |number, forwarded| FramePacket {
                number,
                frame: 0,
                start_of_frame: true,
                end_of_frame: true,
                key_frame: false,
                forwarded,
            };
            let mut exact = Exact::start(&packet(first, true), egress_first, Cadence::Every);
            let mut segment = segment(first, (1 << 16) + u64::from(egress_first));
            let mut newest = first - 1;
            for (step, sent) in [(1, true)].into_iter().chain(steps) {
                let number = newest.wrapping_add_signed(step);
                let rewritten = exact.rewrite(&packet(number, sent));
                if segment.starts_behind(number) {
                    prop_assert_eq!(rewritten, None);
                    continue;
                }
                segment.account(number, sent);
                newest = newest.max(number);
                if let Some(rewritten) = rewritten {
                    prop_assert_eq!(segment.number(number) as u16, rewritten);
                }
            }
        }
    }
}
