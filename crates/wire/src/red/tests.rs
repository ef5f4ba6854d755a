//! Tests of a payload written by hand, of faults, and of the round trip.

use proptest::prelude::*;

use super::*;

/// Opus 111 with one redundant frame of three bytes, 960 units (20 ms) older: 960 << 10 | 3 is
/// 0x0f0003.
const BY_HAND: [u8; 10] = [0xef, 0x0f, 0x00, 0x03, 0x6f, b'o', b'l', b'd', b'n', b'u'];

fn opus() -> PayloadType {
    PayloadType::new(111).unwrap()
}

#[test]
fn a_redundant_frame_stands_in_front_of_the_primary() {
    let payload = RedPayload::parse(&BY_HAND).unwrap();
    let old = RedBlock {
        payload_type: opus(),
        timestamp_offset: 960,
        payload: b"old",
    };
    assert_eq!(payload.redundant().collect::<Vec<_>>(), [old]);
    assert_eq!(payload.primary().payload, b"nu");
    assert_eq!(payload.primary().payload_type, opus());
    assert_eq!(payload.primary().timestamp_offset, 0);

    let mut out = [0; BY_HAND.len()];
    assert_eq!(write(&[old], (opus(), b"nu"), &mut out), Ok(BY_HAND.len()));
    assert_eq!(out, BY_HAND);
}

/// The first three packets of a silent microphone, captured from Chromium 156; their timestamps are
/// 960 units apart.
const CAPTURED: [&[u8]; 3] = [
    &[0x6f, 0x08, 0x0b, 0xe4, 0xb9, 0xa0, 0xbc, 0x84],
    &[
        0xef, 0x0f, 0x00, 0x07, 0x6f, 0x08, 0x0b, 0xe4, 0xb9, 0xa0, 0xbc, 0x84, 0x08, 0x07, 0xc6, 0xb3, 0x0e, 0xc6,
    ],
    &[
        0xef, 0x0f, 0x00, 0x06, 0x6f, 0x08, 0x07, 0xc6, 0xb3, 0x0e, 0xc6, 0x08, 0x07, 0xc6, 0xb3, 0x0e, 0xc6,
    ],
];

#[test]
fn chromium_repeats_the_frame_of_the_packet_before() {
    for pair in CAPTURED.windows(2) {
        let [before, after] = [pair[0], pair[1]].map(|packet| RedPayload::parse(packet).unwrap());
        let repeated = RedBlock {
            timestamp_offset: 960,
            ..before.primary()
        };
        assert_eq!(after.redundant().collect::<Vec<_>>(), [repeated]);
        assert_eq!(after.primary().payload_type, opus());
    }
}

#[test]
fn a_primary_frame_may_stand_alone_or_be_empty() {
    let alone = [0x6f, 1, 2];
    let payload = RedPayload::parse(&alone).unwrap();
    assert_eq!(
        (payload.redundant().count(), payload.primary().payload),
        (0, &alone[1..])
    );
    assert_eq!(RedPayload::parse(&[0x6f]).unwrap().primary().payload, b"");
}

#[test]
fn a_payload_that_ends_early_is_refused_by_name() {
    assert_eq!(RedPayload::parse(&[]).unwrap_err(), RedError::TruncatedHeader);
    for len in 1..BY_HAND.len() {
        let expected = match len {
            1..=4 => Some(RedError::TruncatedHeader),
            5..=7 => Some(RedError::TruncatedBlock),
            _ => None,
        };
        assert_eq!(RedPayload::parse(&BY_HAND[..len]).err(), expected, "{len} bytes");
    }
}

#[test]
fn values_beyond_the_fields_are_not_written() {
    let block = RedBlock {
        payload_type: opus(),
        timestamp_offset: 0,
        payload: &[],
    };
    let too_old = RedBlock {
        timestamp_offset: 16_384,
        ..block
    };
    let too_long = RedBlock {
        payload: &[0; 1024],
        ..block
    };
    let mut out = [0xaa; 2048];
    assert_eq!(write(&[too_old], (opus(), b""), &mut out), Err(RedWriteError::TooOld));
    assert_eq!(write(&[too_long], (opus(), b""), &mut out), Err(RedWriteError::TooLong));
    assert_eq!(
        write(&[block], (opus(), b"1"), &mut out[..5]),
        Err(RedWriteError::BufferTooShort)
    );
    assert_eq!(out, [0xaa; 2048], "nothing was written");
}

type Frames = Vec<(u8, u16, Vec<u8>)>;

fn frames() -> impl Strategy<Value = Frames> {
    let payload = prop::collection::vec(any::<u8>(), 0..LEN_END);
    prop::collection::vec((0u8..128, 0..OFFSET_END, payload), 0..6)
}

proptest! {
    #[test]
    fn blocks_are_read_as_they_were_written(frames in frames(), primary: Vec<u8>) {
        let blocks: Vec<_> = frames
            .iter()
            .map(|(payload_type, timestamp_offset, payload)| RedBlock {
                payload_type: PayloadType::new(*payload_type).unwrap(),
                timestamp_offset: *timestamp_offset,
                payload,
            })
            .collect();
        let mut out = vec![0; encoded_len(&blocks, &primary)];
        prop_assert_eq!(write(&blocks, (opus(), &primary), &mut out), Ok(out.len()));
        let payload = RedPayload::parse(&out).unwrap();
        prop_assert_eq!(payload.redundant().collect::<Vec<_>>(), blocks);
        prop_assert_eq!(payload.primary().payload, primary);
    }

    #[test]
    fn every_byte_of_a_payload_is_in_one_block(bytes: Vec<u8>) {
        if let Ok(payload) = RedPayload::parse(&bytes) {
            let redundant: Vec<_> = payload.redundant().collect();
            prop_assert_eq!(encoded_len(&redundant, payload.primary().payload), bytes.len());
        }
    }
}
