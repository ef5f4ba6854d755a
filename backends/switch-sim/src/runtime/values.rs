//! Binary strings: numbers in the shortest form (P4Runtime specification, section 8.4).

use super::refusal::{Outcome, invalid};
use crate::program::{Word, mask};

/// The number in a binary string.
pub(crate) fn read(bytes: &[u8], width: u32, is_lenient: bool) -> Outcome<Word> {
    if !is_lenient {
        if bytes.is_empty() {
            return invalid("a value is empty");
        }
        if bytes.len() > 1 && bytes[0] == 0 {
            return invalid("a value has leading zeros");
        }
    }
    let significant = bytes.iter().skip_while(|it| **it == 0);
    let mut value: Word = 0;
    for (index, byte) in significant.enumerate() {
        if index >= 16 {
            return invalid(format!("a value has more than {width} bits"));
        }
        value = value << 8 | Word::from(*byte);
    }
    if value & !mask(width) != 0 {
        return invalid(format!("a value has more than {width} bits"));
    }
    Ok(value)
}

/// A number in its shortest form.
pub(crate) fn write(value: Word) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let first = bytes.iter().position(|it| *it != 0).unwrap_or(bytes.len() - 1);
    bytes[first..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shortest_form_is_read() {
        assert_eq!(read(&[0], 8, false), Ok(0));
        assert_eq!(read(&[1, 0], 9, false), Ok(256));
        assert!(read(&[], 8, false).is_err());
        assert!(read(&[0, 1], 16, false).is_err());
        assert!(read(&[2, 0], 9, false).is_err());
        assert!(read(&[1; 17], 128, false).is_err());
        assert_eq!(read(&[0, 1], 16, true), Ok(1));
        assert_eq!(read(&[], 16, true), Ok(0));
    }

    #[test]
    fn the_shortest_form_is_written() {
        assert_eq!(write(0), [0]);
        assert_eq!(write(255), [255]);
        assert_eq!(write(256), [1, 0]);
        assert_eq!(write(Word::MAX).len(), 16);
    }
}
