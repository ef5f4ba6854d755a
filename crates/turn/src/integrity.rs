//! Proofs and checksums of messages (RFC 8489 sections 14.5 to 14.7).

use ring::hmac;

/// The HMAC of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// MESSAGE-INTEGRITY.
    Sha1,
    /// MESSAGE-INTEGRITY-SHA256.
    Sha256,
}

impl Algorithm {
    /// The bytes of the whole value.
    pub(crate) const fn len(self) -> usize {
        match self {
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 => 32,
        }
    }

    /// The value for a message that consists of these parts.
    pub(crate) fn sign(self, key: &[u8], parts: &[&[u8]]) -> hmac::Tag {
        let algorithm = match self {
            Algorithm::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Algorithm::Sha256 => hmac::HMAC_SHA256,
        };
        let mut context = hmac::Context::with_key(&hmac::Key::new(algorithm, key));
        parts.iter().for_each(|part| context.update(part));
        context.sign()
    }
}

/// Whether two values are equal. The time depends on their lengths only.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differs = |sum: u8, (one, other): (&u8, &u8)| sum | (one ^ other);
    one.len() == other.len() && one.iter().zip(other).fold(0, differs) == 0
}

/// The value of FINGERPRINT at the end of a message that consists of these parts.
pub(crate) fn fingerprint(parts: &[&[u8]]) -> u32 {
    let step = |sum: u32, byte: &u8| (sum >> 8) ^ CRC32[usize::from(sum as u8 ^ byte)];
    !parts.iter().copied().flatten().fold(u32::MAX, step) ^ 0x5354_554e
}

/// The remainders of CRC-32 (ITU-T V.42) by byte.
const CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = (rest >> 1) ^ (0xedb8_8320 & (rest & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(fingerprint(&[b"1234", b"56789"]) ^ 0x5354_554e, 0xcbf4_3926);
    }

    #[test]
    fn values_are_compared_whole() {
        assert!(is_equal(b"abc", b"abc"));
        assert!(!is_equal(b"abc", b"abd"));
        assert!(!is_equal(b"abc", b"ab"));
    }
}
