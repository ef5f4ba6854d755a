//! Start of AV1 key frames.

/// Z: the packet starts in the middle of an OBU.
const CONTINUES: u8 = 0x80;
/// N: the packet is the first of a coded video sequence.
const NEW_SEQUENCE: u8 = 0x08;

/// Whether the aggregation header starts a coded video sequence, and a whole OBU follows.
///
/// Source: AV1 RTP specification section 4.4.
pub(super) fn is_key_frame_start(payload: &[u8]) -> bool {
    payload.len() > 1 && payload[0] & (CONTINUES | NEW_SEQUENCE) == NEW_SEQUENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_n_bit_marks_a_new_sequence() {
        assert!(is_key_frame_start(&[0x18, 0x0a]));
        assert!(!is_key_frame_start(&[0x10, 0x0a]), "same sequence");
        assert!(!is_key_frame_start(&[0x98, 0x0a]), "Z and N contradict each other");
        assert!(!is_key_frame_start(&[0x18]), "nothing behind the header");
    }
}
