//! Requests for retransmissions: translates them to the source's numbers and records who asked.
//!
//! The kernel stores no packets, so the agent forwards a request to the publisher. When the packet
//! arrives again, the program sends it to the receivers that asked
//! (`program/fanout/fanout_repair.h`). After [`FRESH`] it is of no use to a receiver.
//!
//! Source: Scallop section 5.3.

use std::collections::BTreeSet;
use std::time::Duration;

use dataplane::limits::REORDER_MAX;
use dataplane::{ReplicaId, StreamKey};

use super::kernel::set;
use super::table::EntryTable;
use crate::clock::nanoseconds;
use crate::layout::fanout::{
    Ask, FrameNumbers, HISTORY_WORDS, NUMBERED_FRAMES, NumberedFrame, REWRITING_EXACT, ReplicaProgress,
};

/// How long an answer is waited for.
const FRESH: Duration = Duration::from_secs(1);

impl EntryTable {
    /// Records that the receiver of a replica asks for packets again, by the replica's numbers.
    /// Returns the source's numbers; `None` where the replica follows nothing.
    pub(super) fn nack(&mut self, id: ReplicaId, sequences: &[u16]) -> Option<(StreamKey, Vec<u16>)> {
        let (entry, cell, state) = self.sent_replica(id)?;
        let source = cell.progress.source;
        if entry.paused || source == 0 {
            return None;
        }
        let stream_state = source - 1;
        let key = self.stream_of(stream_state)?;
        let until = nanoseconds() + FRESH.as_nanos() as u64;
        let mut found = Vec::new();
        let frames = self.kernel.replica_frames.get(&state, 0).ok()?;
        let numbers = match frames.rewriting {
            REWRITING_EXACT => numbers(&cell.progress, sequences),
            _ => numbers_by_frames(&cell.progress, &frames, sequences),
        };
        for number in numbers {
            let ask = Ask {
                number,
                source,
                replica: state,
            };
            if self.kernel.asks.insert(ask, until, 0).is_ok() {
                found.push(number as u16);
            }
        }
        // Written last, so that a packet that finds it also finds the requests.
        let is_known = !found.is_empty() && set(&mut self.kernel.wanted, stream_state, until);
        is_known.then_some((key, found))
    }
}

/// The source's extended numbers for some of a replica's, as far as they belong to its segment and
/// were sent, or are to be.
fn numbers(progress: &ReplicaProgress, sequences: &[u16]) -> Vec<u64> {
    let mut wanted: BTreeSet<u16> = sequences.iter().copied().collect();
    let oldest = progress.first.max(progress.newest.saturating_sub(REORDER_MAX - 1));
    let known = (oldest..=progress.newest).filter_map(|source| Some((source, sequence(progress, source)?)));
    let found = known.filter(|(_, sequence)| wanted.remove(sequence));
    found.map(|(source, _)| source).collect()
}

/// The number under which a packet of the source was sent, or is to be; `None` where later packets
/// have closed the gap.
fn sequence(progress: &ReplicaProgress, source: u64) -> Option<u16> {
    let word = (source / 64 % u64::from(HISTORY_WORDS)) as usize;
    let (closed, bit) = (progress.closed[word], 1 << (source % 64));
    let before = (closed & (bit - 1)).count_ones() as u16;
    (closed & bit == 0).then(|| (source as u16).wrapping_add(progress.shifts[word]).wrapping_sub(before))
}

/// The same where its frames number a replica's packets: of those frames that are remembered.
fn numbers_by_frames(progress: &ReplicaProgress, frames: &FrameNumbers, sequences: &[u16]) -> Vec<u64> {
    let source = |sequence: u16| {
        let of_frame = |frame: &NumberedFrame| {
            let source = sequence.wrapping_add(frame.offset);
            (source.wrapping_sub(frame.first) <= frame.last.wrapping_sub(frame.first)).then_some(source)
        };
        let known = frames
            .frames
            .iter()
            .zip(0..)
            .filter(|(frame, place)| frame.frame as u32 % NUMBERED_FRAMES == *place);
        known.map(|(frame, _)| frame).find_map(of_frame)
    };
    let found: BTreeSet<u64> = sequences
        .iter()
        .filter_map(|sequence| source(*sequence))
        .map(|source| {
            progress
                .newest
                .wrapping_sub(u64::from((progress.newest as u16).wrapping_sub(source)))
        })
        .filter(|number| *number >= progress.first)
        .collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The progress after packets from `first` on, of which some were not sent. The first packet
    /// has number 100.
    fn after(first: u64, newest: u64, left_out: impl Fn(u64) -> bool) -> (ReplicaProgress, Vec<(u64, u16)>) {
        let mut progress = ReplicaProgress {
            first,
            newest,
            ..ReplicaProgress::default()
        };
        let (mut next, mut sent) = (100_u16, Vec::new());
        for source in first..=newest {
            let word = (source / 64 % u64::from(HISTORY_WORDS)) as usize;
            if source == first || source % 64 == 0 {
                progress.closed[word] = 0;
                progress.shifts[word] = next.wrapping_sub(source as u16);
            }
            if left_out(source) {
                progress.closed[word] |= 1 << (source % 64);
            } else {
                sent.push((source, next));
                next = next.wrapping_add(1);
            }
        }
        (progress, sent)
    }

    #[test]
    fn each_number_within_the_window_is_found_and_no_other() {
        for every in [2, 3, 7, 5_000] {
            let (progress, sent) = after(65_000, 70_000, |source| source % every == 1);
            let (known, forgotten): (Vec<_>, Vec<_>) =
                sent.iter().partition(|(source, _)| 70_000 - source < REORDER_MAX);
            for (source, sequence) in &known {
                assert_eq!(numbers(&progress, &[*sequence]), [*source]);
            }
            let all: Vec<u16> = sent.iter().map(|(_, sequence)| *sequence).collect();
            let expected: Vec<u64> = known.iter().map(|(source, _)| *source).collect();
            assert_eq!(numbers(&progress, &all), expected);
            assert!(forgotten.len() > 1_000);
            let next = known.last().unwrap().1.wrapping_add(1);
            assert_eq!(numbers(&progress, &[next]), [], "it was not sent yet");
        }
    }

    #[test]
    fn by_frames_only_sent_packets_of_remembered_frames_are_found() {
        let progress = ReplicaProgress {
            first: 131_000,
            newest: 131_080,
            ..ReplicaProgress::default()
        };
        let name = |place: usize| place as u16 + 1;
        let mut frames = FrameNumbers {
            rewriting: 1,
            ..FrameNumbers::default()
        };
        for (place, frame) in frames.frames.iter_mut().enumerate() {
            frame.frame = name(place);
        }
        // Frame 40 is 131,068 to 131,071 and is sent under 100 to 103; frame 42 from 131,076 on,
        // after a gap of one, across the end of 16 bits.
        for (frame, first, last, number) in [(40, 131_068, 131_071_u64, 100), (42, 131_076, 131_080, 105)] {
            frames.frames[frame % NUMBERED_FRAMES as usize] = NumberedFrame {
                frame: frame as u16,
                offset: (first as u16).wrapping_sub(number),
                first: first as u16,
                last: last as u16,
            };
        }
        let found = |sequences: &[u16]| numbers_by_frames(&progress, &frames, sequences);
        assert_eq!(found(&[100, 103, 105, 109]), [131_068, 131_071, 131_076, 131_080]);
        assert_eq!(found(&[99, 104, 110, 0]), []);
        let later = ReplicaProgress {
            first: 131_070,
            ..progress
        };
        assert_eq!(numbers_by_frames(&later, &frames, &[100, 103]), [131_071]);
    }

    #[test]
    fn packets_sent_before_a_switch_are_not_found() {
        let (progress, sent) = after(100, 110, |_| false);
        assert_eq!(numbers(&progress, &[sent[0].1.wrapping_sub(1)]), []);
        assert_eq!(numbers(&progress, &[sent[0].1]), [100]);
    }
}
