//! Start of H.264 key frames.

use crate::bytes::Reader;

const IDR_SLICE: u8 = 5;
const SEQUENCE_PARAMETERS: u8 = 7;
const STAP_A: u8 = 24;
const FU_A: u8 = 28;

/// Whether the packet holds a sequence parameter set or starts an IDR slice.
///
/// Source: RFC 6184 sections 5.6 to 5.8.
pub(super) fn is_key_frame_start(payload: &[u8]) -> bool {
    match *payload {
        [] => false,
        [header, ref rest @ ..] => match header & 0x1f {
            STAP_A => units(rest).any(is_start_unit),
            FU_A => rest
                .first()
                .is_some_and(|fragment| fragment & 0x80 != 0 && is_start_unit(fragment & 0x1f)),
            unit => is_start_unit(unit),
        },
    }
}

fn is_start_unit(unit: u8) -> bool {
    matches!(unit, IDR_SLICE | SEQUENCE_PARAMETERS)
}

/// The types of the units in an aggregation packet, up to the first that is cut short.
fn units(aggregate: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut reader = Reader::new(aggregate);
    std::iter::from_fn(move || {
        let size = reader.u16()?;
        let unit = reader.take(usize::from(size))?;
        unit.first().map(|header| header & 0x1f)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_sets_and_idr_slices_are_starts() {
        assert!(is_key_frame_start(&[0x67, 0x42]), "single unit, SPS");
        assert!(is_key_frame_start(&[0x65, 0x88]), "single unit, IDR");
        assert!(!is_key_frame_start(&[0x41, 0x9a]), "single unit, other slice");
        assert!(!is_key_frame_start(&[0x68, 0xce]), "picture parameters alone");
    }

    #[test]
    fn aggregates_are_searched() {
        assert!(
            is_key_frame_start(&[0x78, 0, 2, 0x09, 0x10, 0, 2, 0x67, 0x42]),
            "delimiter, then SPS"
        );
        assert!(!is_key_frame_start(&[0x78, 0, 2, 0x09, 0x10, 0, 2, 0x41, 0x9a]));
        assert!(!is_key_frame_start(&[0x78, 0, 9, 0x67]), "cut short");
        assert!(
            !is_key_frame_start(&[0x78, 0, 0, 0, 2, 0x67, 0x42]),
            "an empty unit ends the search"
        );
    }

    #[test]
    fn only_the_first_fragment_is_a_start() {
        assert!(is_key_frame_start(&[0x7c, 0x85]), "first fragment of an IDR slice");
        assert!(!is_key_frame_start(&[0x7c, 0x05]), "middle fragment");
        assert!(!is_key_frame_start(&[0x7c, 0x81]), "first fragment of another slice");
        assert!(!is_key_frame_start(&[0x7c]), "no fragment header");
    }
}
