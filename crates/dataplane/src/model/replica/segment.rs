//! A stretch of following one stream, and what the next one continues.

use std::collections::BTreeSet;
use std::time::Instant;

use wire::NtpTime;
use wire::codec::vp8::Vp8Descriptor;

use super::by_frames::ByFrames;
use crate::limits::REORDER_MAX;
use crate::model::select::Selection;

/// A stretch of following one stream.
#[derive(Debug)]
pub(in crate::model) struct Segment {
    /// Source number of the first packet.
    pub(super) first: u64,
    /// Its number in the replica.
    pub(super) egress_first: u64,
    /// Source number of the newest packet, sent or not.
    pub(super) newest: u64,
    /// Source numbers that were not sent, though they arrived in order.
    pub(super) closed_up: BTreeSet<u64>,
    /// The numbering by frames, if it is used instead.
    pub(super) by_frames: Option<ByFrames>,
    /// The offset for the source's timestamps.
    pub timestamp_offset: u32,
    /// The offset for VP8's picture id and TL0PICIDX, without pictures held back.
    pub vp8_offset: Vp8Ids,
    /// The offset for the dependency descriptor's frame numbers.
    pub frame_offset: u16,
    /// Which layers.
    pub selection: Selection,
    pub(super) last: Last,
}

/// The newest sent packet, as the receiver saw it, from which the next segment continues. It may
/// have arrived late, if the packets after it were not sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    /// Its source number.
    pub(super) number: u64,
    pub(super) at: Instant,
    pub(super) capture: Option<NtpTime>,
    pub(super) timestamp: u32,
    pub(super) vp8: Vp8Ids,
    /// The newest frame number of all, where packets have one.
    pub(super) frame: Option<u16>,
}

/// VP8's running counters, or offsets between them. KEYIDX stays the source's: it is only compared
/// with itself within a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::model) struct Vp8Ids {
    pub picture: u16,
    pub tl0: u8,
}

impl Vp8Ids {
    /// The running counters in a VP8 payload; those it does not carry are zero.
    pub(crate) fn read(payload: &[u8]) -> Self {
        let Ok(descriptor) = Vp8Descriptor::parse(payload) else {
            return Vp8Ids::default();
        };
        Vp8Ids {
            picture: descriptor.picture_id.map_or(0, |id| id.value()),
            tl0: descriptor.tl0_pic_idx.unwrap_or(0),
        }
    }

    pub(crate) fn plus(self, offset: Vp8Ids) -> Self {
        Vp8Ids {
            picture: self.picture.wrapping_add(offset.picture),
            tl0: self.tl0.wrapping_add(offset.tl0),
        }
    }

    pub(crate) fn minus_pictures(self, count: u16) -> Self {
        Vp8Ids {
            picture: self.picture.wrapping_sub(count),
            ..self
        }
    }

    /// The offset that makes `first` follow `self`.
    pub(super) fn offset_to_follow(self, first: Vp8Ids) -> Self {
        Vp8Ids {
            picture: self.picture.wrapping_add(1).wrapping_sub(first.picture),
            tl0: self.tl0.wrapping_add(1).wrapping_sub(first.tl0),
        }
    }
}

impl Segment {
    /// The replica's number for a source number. Meaningful for numbers of this segment that were
    /// not closed up.
    pub(crate) fn number(&self, source: u64) -> u64 {
        let closed = self.closed_up.range(..source).count() as u64;
        self.egress_first.wrapping_add(source - self.first).wrapping_sub(closed)
    }

    /// Takes account of a packet that is sent or not.
    pub(super) fn account(&mut self, number: u64, is_sent: bool) {
        if number <= self.newest {
            return;
        }
        self.advance(number);
        if !is_sent {
            self.closed_up.insert(number);
        }
    }

    /// Moves on to a newer packet, and folds what is now too old to matter on its own into the
    /// first number.
    fn advance(&mut self, newest: u64) {
        self.newest = newest;
        while let Some(oldest) = self
            .closed_up
            .first()
            .filter(|closed| **closed + REORDER_MAX < newest)
            .copied()
        {
            self.closed_up.remove(&oldest);
            self.egress_first = self.egress_first.wrapping_sub(1);
        }
    }

    /// The number with which the next segment continues.
    pub(super) fn next(&self) -> u64 {
        match &self.by_frames {
            Some(by_frames) => by_frames.next(),
            None => self.number(self.newest + 1),
        }
    }

    /// The source's number for one of the replica's, among those that may still be asked for.
    pub(crate) fn source(&self, number: u64) -> Option<u64> {
        if let Some(by_frames) = &self.by_frames {
            return by_frames.source(number);
        }
        let oldest = self.first.max(self.newest.saturating_sub(REORDER_MAX));
        (oldest..=self.newest).find(|source| !self.closed_up.contains(source) && self.number(*source) == number)
    }

    /// The extended number that the 16 bits of a NACK mean: the nearest to the highest.
    pub(crate) fn extend(&self, sequence: u16) -> u64 {
        let highest = self.next() - 1;
        highest.wrapping_add_signed(i64::from(sequence.wrapping_sub(highest as u16) as i16))
    }
}
