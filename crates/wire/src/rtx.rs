//! Retransmissions as a stream of their own: the original sequence number in front of the original
//! payload.
//!
//! Source: RFC 4588 section 4.

use crate::SequenceNumber;

/// Bytes that a retransmission's payload has more than the original's.
pub const OSN_LEN: usize = 2;

/// Takes a retransmission's payload apart: the original sequence number (OSN) and the original
/// payload.
///
/// Errors: `None` when there is no whole number, as in the padding-only packets that probe with an
/// RTX stream.
pub fn split(payload: &[u8]) -> Option<(SequenceNumber, &[u8])> {
    let (osn, original) = payload.split_first_chunk()?;
    Some((SequenceNumber(u16::from_be_bytes(*osn)), original))
}

/// Writes the original sequence number to the front of a retransmission's payload; the original
/// payload follows it.
pub fn write_osn(payload: &mut [u8; OSN_LEN], original: SequenceNumber) {
    *payload = original.0.to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_goes_in_front_and_comes_off_again() {
        let mut payload = *b"..video";
        write_osn(payload.first_chunk_mut().unwrap(), SequenceNumber(0xabcd));
        assert_eq!(payload[..2], [0xab, 0xcd]);
        assert_eq!(split(&payload), Some((SequenceNumber(0xabcd), &b"video"[..])));
        assert_eq!(split(&payload[..1]), None);
    }
}
