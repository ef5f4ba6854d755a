//! All decisions remembered.

use crate::{Cadence, FramePacket, Rewriter};

/// How many of the newest packets [`Exact`] remembers.
pub const REORDER_MAX: u64 = 1024;

const WORDS: usize = (REORDER_MAX / 64) as usize;

/// Remembers of each of the newest [`REORDER_MAX`] packets whether it was left out. The back ends
/// in software follow its rule.
///
/// It looks at single packets, so it needs neither frames nor cadence. A packet that is left out in
/// order closes up. Its type-2 errors are exactly the packets to be left out that never arrived, or
/// arrived after a newer one: their numbers were already reserved.
///
/// Shape: 152 bytes a stream.
/// Source: RFC 3550 section 5.1.
#[derive(Clone, Debug)]
pub struct Exact {
    first: u64,
    /// One more than the newest.
    next: u64,
    /// Source's number minus replica's, for the next packets.
    offset: u64,
    /// One bit for each of the newest numbers: it closed up. A number and the one [`REORDER_MAX`]
    /// before it share a bit.
    closed: [u64; WORDS],
}

impl Rewriter for Exact {
    fn start(first: &FramePacket, sequence: u16, _: Cadence) -> Self {
        Exact {
            first: first.number,
            next: first.number,
            offset: first.number.wrapping_sub(u64::from(sequence)),
            closed: [0; WORDS],
        }
    }

    fn rewrite(&mut self, packet: &FramePacket) -> Option<u16> {
        let number = packet.number;
        if number < self.first {
            return None;
        }
        if number >= self.next {
            self.advance(number, packet.forwarded);
        }
        if !packet.forwarded || self.next - number > REORDER_MAX || self.is_closed(number) {
            return None;
        }
        Some(
            number
                .wrapping_sub(self.offset)
                .wrapping_add(self.closed_behind(number)) as u16,
        )
    }

    /// It needs no change: every decision arrives with its packet.
    fn change_cadence(&mut self, _: Cadence, _: u16) {}
}

impl Exact {
    fn advance(&mut self, number: u64, forwarded: bool) {
        if number - self.next >= REORDER_MAX {
            self.closed = [0; WORDS];
        } else {
            (self.next..=number).for_each(|new| self.closed[word(new)] &= !bit(new));
        }
        self.next = number + 1;
        if !forwarded {
            self.closed[word(number)] |= bit(number);
            self.offset = self.offset.wrapping_add(1);
        }
    }

    fn is_closed(&self, number: u64) -> bool {
        self.closed[word(number)] & bit(number) != 0
    }

    /// How many numbers newer than `number` closed up.
    fn closed_behind(&self, number: u64) -> u64 {
        (number + 1..self.next).filter(|newer| self.is_closed(*newer)).count() as u64
    }
}

fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}
