//! Fields that are no whole number of bytes.

/// Reads unsigned fields off the front, high bit first.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits read so far.
    position: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// f(`count`), for at most 32 bits; `None` when fewer are left.
    pub(super) fn bits(&mut self, count: usize) -> Option<u32> {
        debug_assert!(count <= 32);
        let end = self.position + count;
        let touched = self.bytes.get(self.position / 8..end.div_ceil(8))?;
        let wide = touched.iter().fold(0u64, |wide, &byte| wide << 8 | u64::from(byte));
        let behind = touched.len() * 8 - self.position % 8 - count;
        self.position = end;
        Some((wide >> behind & ((1 << count) - 1)) as u32)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        self.bits(1).map(|bit| bit == 1)
    }

    /// ns(`end`): a number below `end`, in one bit less for the lower ones when `end` is no power
    /// of two.
    pub(super) fn below(&mut self, end: u32) -> Option<u32> {
        let width = width(end);
        let short_end = (1 << width) - end;
        let value = self.bits(width - 1)?;
        if value < short_end {
            return Some(value);
        }
        Some((value << 1) - short_end + self.bits(1)?)
    }
}

/// Writes unsigned fields, high bit first.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    /// Bits written so far.
    position: usize,
}

/// The field does not fit the rest of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self { out, position: 0 }
    }

    /// f(`count`), for at most 32 bits.
    pub(super) fn bits(&mut self, value: u32, count: usize) -> Result<(), Full> {
        debug_assert!(count <= 32 && u64::from(value) < 1 << count);
        let mut left = count;
        while left > 0 {
            let free = 8 - self.position % 8;
            let now = free.min(left);
            let part = (u64::from(value) >> (left - now) & ((1 << now) - 1)) as u8;
            let byte = self.out.get_mut(self.position / 8).ok_or(Full)?;
            // The first write into a byte clears its old bits.
            let before = if free == 8 { 0 } else { *byte };
            *byte = before | (u16::from(part) << (free - now)) as u8;
            self.position += now;
            left -= now;
        }
        Ok(())
    }

    pub(super) fn flag(&mut self, value: bool) -> Result<(), Full> {
        self.bits(u32::from(value), 1)
    }

    /// ns(`end`), see [`BitReader::below`].
    pub(super) fn below(&mut self, value: u32, end: u32) -> Result<(), Full> {
        debug_assert!(value < end);
        let width = width(end);
        let short_end = (1 << width) - end;
        match value < short_end {
            true => self.bits(value, width - 1),
            false => self.bits(value + short_end, width),
        }
    }

    /// Whole bytes written; the bits that fill the last one are zero.
    pub(super) fn len(&self) -> usize {
        self.position.div_ceil(8)
    }
}

/// Bits of `number` without leading zeros.
fn width(number: u32) -> usize {
    (u32::BITS - number.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_below_five_take_two_bits_or_three() {
        // The table in the definition of ns(n): 00, 01, 10, 110, 111.
        let mut out = [0xff; 2];
        let mut writer = BitWriter::new(&mut out);
        (0..5).for_each(|value| writer.below(value, 5).unwrap());
        assert_eq!(writer.len(), 2);
        assert_eq!(out, [0b0001_1011, 0b0111_0000]);
        let mut reader = BitReader::new(&out);
        (0..5).for_each(|value| assert_eq!(reader.below(5), Some(value)));
    }

    #[test]
    fn the_only_number_below_one_takes_no_bit() {
        assert_eq!(BitReader::new(&[]).below(1), Some(0));
        assert_eq!(BitWriter::new(&mut []).below(0, 1), Ok(()));
    }

    #[test]
    fn nothing_is_read_or_written_past_the_end() {
        let mut reader = BitReader::new(&[0xab]);
        assert_eq!(reader.bits(9), None);
        assert_eq!(reader.bits(8), Some(0xab));
        assert_eq!(reader.bits(1), None);
        assert_eq!(reader.bits(0), Some(0));
        assert_eq!(BitWriter::new(&mut [0]).bits(0x1ff, 9), Err(Full));
    }

    proptest! {
        #[test]
        fn fields_are_read_as_they_were_written(fields in prop::collection::vec((any::<u32>(), 0usize..=32), 0..40)) {
            let cut = |&(value, count): &(u32, usize)| ((u64::from(value) & ((1 << count) - 1)) as u32, count);
            let fields: Vec<(u32, usize)> = fields.iter().map(cut).collect();
            let mut out = [0xff; 160];
            let mut writer = BitWriter::new(&mut out);
            for &(value, count) in &fields {
                writer.bits(value, count).unwrap();
            }
            let mut reader = BitReader::new(&out);
            for &(value, count) in &fields {
                prop_assert_eq!(reader.bits(count), Some(value));
            }
        }

        #[test]
        fn numbers_below_any_end_are_read_as_they_were_written(
            (end, value) in (1u32..200).prop_flat_map(|end| (Just(end), 0..end)),
        ) {
            let mut out = [0; 2];
            BitWriter::new(&mut out).below(value, end).unwrap();
            prop_assert_eq!(BitReader::new(&out).below(end), Some(value));
        }
    }
}
