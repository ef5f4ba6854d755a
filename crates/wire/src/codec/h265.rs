//! Start of H.265 key frames.

use crate::bytes::Reader;

const AGGREGATION: u8 = 48;
const FRAGMENTATION: u8 = 49;

/// Whether the packet holds a video or sequence parameter set or starts an intra random access
/// slice.
///
/// Source: RFC 7798 sections 4.4.1 to 4.4.3.
pub(super) fn is_key_frame_start(payload: &[u8]) -> bool {
    match *payload {
        [] | [_] => false,
        [first, _, ref rest @ ..] => match unit_type(first) {
            AGGREGATION => units(rest).any(is_start_unit),
            FRAGMENTATION => rest
                .first()
                .is_some_and(|fragment| fragment & 0x80 != 0 && is_start_unit(fragment & 0x3f)),
            unit => is_start_unit(unit),
        },
    }
}

fn unit_type(first: u8) -> u8 {
    first >> 1 & 0x3f
}

/// BLA, IDR and CRA slices, and the parameter sets in front of them.
fn is_start_unit(unit: u8) -> bool {
    matches!(unit, 16..=21 | 32 | 33)
}

/// The types of the units in an aggregation packet, up to the first that is cut short.
fn units(aggregate: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut reader = Reader::new(aggregate);
    std::iter::from_fn(move || {
        let size = reader.u16()?;
        let unit = reader.take(usize::from(size))?;
        unit.first().copied().map(unit_type)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_sets_and_random_access_slices_are_starts() {
        assert!(is_key_frame_start(&[32 << 1, 1, 0]), "VPS");
        assert!(is_key_frame_start(&[19 << 1, 1, 0]), "IDR_W_RADL");
        assert!(!is_key_frame_start(&[1 << 1, 1, 0]), "trailing slice");
        assert!(!is_key_frame_start(&[19 << 1]), "half a header");
    }

    #[test]
    fn aggregates_and_fragments_are_understood() {
        assert!(is_key_frame_start(&[48 << 1, 1, 0, 3, 33 << 1, 1, 0]));
        assert!(!is_key_frame_start(&[48 << 1, 1, 0, 9, 33 << 1]));
        assert!(is_key_frame_start(&[49 << 1, 1, 0x80 | 20]));
        assert!(!is_key_frame_start(&[49 << 1, 1, 20]));
    }
}
