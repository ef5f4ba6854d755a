//! Bits of a packet, in network order.

use crate::program::Word;

/// The value of so many bits from an offset in bits; `None` beyond the end.
pub(crate) fn read(bytes: &[u8], offset: usize, width: u32) -> Option<Word> {
    let end = offset.checked_add(width as usize)?;
    if end > bytes.len() * 8 {
        return None;
    }
    if width == 0 {
        return Some(0);
    }
    let (first, last) = (offset / 8, (end - 1) / 8);
    let skipped = 8 * (last + 1) - end;
    // Up to 17 bytes hold a value of 128 bits: the first byte's high bits are not part of it.
    let mut value: Word = Word::from(bytes[first] & (0xff >> (offset % 8)));
    for byte in &bytes[first + 1..(last + 1).min(first + 16)] {
        value = value << 8 | Word::from(*byte);
    }
    if last - first >= 16 {
        let low = bytes[last] >> skipped;
        return Some(value << (8 - skipped) | Word::from(low));
    }
    Some(value >> skipped)
}

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Bits written.
    bits: usize,
}

impl Writer {
    /// Writes a value of so many bits.
    pub(crate) fn put(&mut self, value: Word, width: u32) {
        let mut left = width;
        while left > 0 {
            let used = (self.bits % 8) as u32;
            if used == 0 {
                self.bytes.push(0);
            }
            let taken = (8 - used).min(left);
            let part = (value >> (left - taken)) as u8 & (0xff >> (8 - taken)) as u8;
            if let Some(last) = self.bytes.last_mut() {
                *last |= part << (8 - used - taken);
            }
            self.bits += taken as usize;
            left -= taken;
        }
    }

    /// Writes whole bytes.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        if self.bits.is_multiple_of(8) {
            self.bytes.extend_from_slice(bytes);
            self.bits += bytes.len() * 8;
        } else {
            for byte in bytes {
                self.put(Word::from(*byte), 8);
            }
        }
    }

    /// Fills the last byte with zeros.
    pub(crate) fn align(&mut self) {
        self.bits = self.bytes.len() * 8;
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_any_offset_are_read_as_they_were_written() {
        for offset in 0..24u32 {
            for width in 1..=128u32 {
                let value = (0x0123_4567_89ab_cdef_fedc_ba98_7654_3211u128).rotate_left(width);
                let value = value & crate::program::mask(width);
                let mut writer = Writer::default();
                writer.put(0, offset);
                writer.put(value, width);
                writer.put(Word::MAX, 7);
                let bytes = writer.bytes();
                assert_eq!(read(&bytes, offset as usize, width), Some(value), "{offset} {width}");
            }
        }
    }

    #[test]
    fn bits_beyond_the_end_are_absent() {
        assert_eq!(read(&[1, 2], 9, 8), None);
        assert_eq!(read(&[1, 2], 8, 8), Some(2));
        assert_eq!(read(&[], 0, 0), Some(0));
    }
}
