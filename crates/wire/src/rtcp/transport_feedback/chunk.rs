//! Packet status chunks: the run-length and bit-vector code in the middle of a transport-wide
//! feedback packet.
//!
//! Source: draft-holmer-rmcat-transport-wide-cc-extensions-01 sections 3.1.1 to 3.1.4.

use crate::bytes::Reader;

/// The longest run one chunk holds: its length has 13 bits.
const RUN_MAX: usize = 0x1fff;
/// Statuses in a vector of one bit each, for missing or small.
const ONE_BIT_LEN: usize = 14;
/// Statuses in a vector of two bits each.
const TWO_BIT_LEN: usize = 7;

/// The fate of one packet, and the length of its arrival time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It has not arrived.
    Missing = 0,
    /// It arrived 0 to 255 ticks after the one before.
    SmallDelta = 1,
    /// It arrived earlier than the one before, or much later.
    LargeDelta = 2,
}

impl Status {
    /// `None` for the reserved fourth symbol.
    fn from_symbol(symbol: u16) -> Option<Self> {
        match symbol {
            0 => Some(Self::Missing),
            1 => Some(Self::SmallDelta),
            2 => Some(Self::LargeDelta),
            _ => None,
        }
    }

    pub(super) const fn delta_len(self) -> usize {
        self as usize
    }
}

/// The statuses in chunks, one by one; an item is `None` for a reserved symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statuses<'a> {
    chunks: Reader<'a>,
    /// Number of statuses that remain.
    left: u16,
    chunk: Chunk,
}

/// The rest of one chunk.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// The next status is in the uppermost of them.
    bits: u16,
    /// How many statuses are left.
    left: u16,
    /// Bits of each status, and bits to advance after it: none in a run.
    width: u8,
    step: u8,
}

impl Chunk {
    /// No status.
    const NONE: Chunk = Chunk::new(0);

    const fn new(chunk: u16) -> Self {
        let (bits, left, width, step) = match chunk >> 14 {
            0b00 | 0b01 => (chunk << 1, chunk & RUN_MAX as u16, 2, 0),
            0b10 => (chunk << 2, ONE_BIT_LEN as u16, 1, 1),
            _ => (chunk << 2, TWO_BIT_LEN as u16, 2, 2),
        };
        Chunk {
            bits,
            left,
            width,
            step,
        }
    }

    /// The next of the remaining statuses.
    #[inline]
    fn next(&mut self) -> u16 {
        let symbol = self.bits >> (u16::BITS as u8 - self.width);
        self.bits <<= self.step;
        self.left -= 1;
        symbol
    }

    /// The length of the arrival times of the first `count` statuses; `None` where one is reserved.
    fn deltas_len(mut self, count: u16) -> Option<usize> {
        match (self.width, self.step) {
            (_, 0) => Some(Status::from_symbol(self.next())?.delta_len() * usize::from(count)),
            (1, _) => Some((self.bits >> (u16::BITS as u16 - count)).count_ones() as usize),
            _ => (0..count)
                .map(|_| Some(Status::from_symbol(self.next())?.delta_len()))
                .sum(),
        }
    }
}

impl<'a> Statuses<'a> {
    /// `chunks` may extend beyond the chunks: `count` limits them.
    pub(super) fn new(chunks: Reader<'a>, count: u16) -> Self {
        // A run of length zero has no status, so the first one is taken from the first chunk.
        Self {
            chunks,
            left: count,
            chunk: Chunk::NONE,
        }
    }

    /// The length of all arrival times, and the reader where they start; `None` when a status is
    /// missing or reserved.
    pub(super) fn measure(mut self) -> Option<(usize, Reader<'a>)> {
        let mut deltas_len = 0;
        while self.left > 0 {
            let chunk = Chunk::new(self.chunks.u16()?);
            let count = chunk.left.min(self.left);
            if count > 0 {
                deltas_len += chunk.deltas_len(count)?;
                self.left -= count;
            }
        }
        Some((deltas_len, self.chunks))
    }
}

impl Iterator for Statuses<'_> {
    type Item = Option<Status>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        while self.chunk.left == 0 {
            self.chunk = Chunk::new(self.chunks.u16()?);
        }
        self.left -= 1;
        Some(Status::from_symbol(self.chunk.next()))
    }
}

/// The most chunks that [`write`] needs for this many statuses.
pub(super) const fn chunks_max(statuses: usize) -> usize {
    statuses.div_ceil(TWO_BIT_LEN)
}

/// Appends the chunks for `statuses`.
///
/// A run is used if it holds more than a vector would, or everything that is left; otherwise the
/// vector with the most statuses.
pub(super) fn write(out: &mut Vec<u8>, statuses: &[Status]) {
    let mut rest = statuses;
    while let Some(&first) = rest.first() {
        let run = rest.iter().take(RUN_MAX).take_while(|status| **status == first).count();
        let next = &rest[..rest.len().min(ONE_BIT_LEN)];
        let fits_one_bit = !next.contains(&Status::LargeDelta);
        let vector_len = if fits_one_bit { ONE_BIT_LEN } else { TWO_BIT_LEN };
        let (chunk, len) = if run >= vector_len || run == rest.len() {
            ((first as u16) << 13 | run as u16, run)
        } else if fits_one_bit {
            (vector(0b10, next, 1), next.len())
        } else {
            let next = &rest[..rest.len().min(TWO_BIT_LEN)];
            (vector(0b11, next, 2), next.len())
        };
        out.extend(chunk.to_be_bytes());
        rest = &rest[len..];
    }
}

/// A vector chunk; its unused statuses are missing.
fn vector(kind: u16, statuses: &[Status], bits: u32) -> u16 {
    let code = |chunk: u16, status: &Status| chunk << bits | *status as u16;
    let filled = statuses.iter().fold(0, code);
    kind << 14 | filled << (14 - bits * statuses.len() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::{LargeDelta, Missing, SmallDelta};

    fn read(chunks: &[u8], count: u16) -> Option<Vec<Status>> {
        Statuses::new(Reader::new(chunks), count).collect()
    }

    #[test]
    fn the_draft_s_run_length_examples_read_as_described() {
        // Section 3.1.3: a run of 221 missing packets, and one of 24. The draft's second example
        // has the reserved symbol, which is left over from its first version; here it is a large
        // delta.
        assert_eq!(read(&[0b0000_0000, 0b1101_1101], 221), Some(vec![Missing; 221]));
        assert_eq!(read(&[0b0100_0000, 0b0001_1000], 24), Some(vec![LargeDelta; 24]));
    }

    #[test]
    fn the_draft_s_status_vector_examples_read_as_described() {
        // Section 3.1.4, first example: 1 missing, 5 received, 3 missing, 3 received, 2 missing.
        let one_bit = read(&[0b1001_1111, 0b0001_1100], 14).unwrap();
        let mut expected = vec![Missing];
        expected.extend([SmallDelta; 5]);
        expected.extend([Missing; 3]);
        expected.extend([SmallDelta; 3]);
        expected.extend([Missing; 2]);
        assert_eq!(one_bit, expected);
        // Second example, again with a large delta for the reserved symbol: 1 missing, 1 large, 3
        // received, 2 missing.
        let two_bits = read(&[0b1100_1001, 0b0101_0000], 7).unwrap();
        assert_eq!(
            two_bits,
            [
                Missing, LargeDelta, SmallDelta, SmallDelta, SmallDelta, Missing, Missing
            ]
        );
    }

    #[test]
    fn the_reserved_symbol_and_missing_chunks_are_refused() {
        assert_eq!(
            Statuses::new(Reader::new(&[0x60, 0x01]), 1)
                .measure()
                .map(|(len, _)| len),
            None
        );
        assert_eq!(
            Statuses::new(Reader::new(&[0x20, 0x01]), 2)
                .measure()
                .map(|(len, _)| len),
            None
        );
        assert_eq!(
            Statuses::new(Reader::new(&[0x20, 0x00]), 1)
                .measure()
                .map(|(len, _)| len),
            None
        );
    }

    #[test]
    fn the_shortest_form_is_written() {
        let written = |statuses: &[Status]| {
            let mut out = Vec::new();
            write(&mut out, statuses);
            assert!(out.len() <= 2 * chunks_max(statuses.len()));
            assert_eq!(read(&out, statuses.len() as u16).as_deref(), Some(statuses));
            out
        };
        assert_eq!(written(&[SmallDelta; 20]), [0x20, 20]);
        assert_eq!(written(&[SmallDelta, Missing, SmallDelta]), [0b1010_1000, 0]);
        assert_eq!(written(&[LargeDelta, Missing, SmallDelta]), [0b1110_0001, 0]);
        assert_eq!(written(&[Missing; RUN_MAX + 1]), [0x1f, 0xff, 0, 1]);
        assert_eq!(written(&[]), []);
    }
}
