//! RTP packets byte by byte, the two extension forms, and the round trip through the writer.

use proptest::prelude::*;

use super::*;
use crate::rtp_writer::{ExtensionWriter, RtpHeader, RtpWriteError, fill_padding};

/// Version 2, marker, type 96, number 0x1234, timestamp 0x01020304, SSRC 0x0a0b0c0d.
const FIXED: [u8; 12] = [0x80, 0xe0, 0x12, 0x34, 1, 2, 3, 4, 0x0a, 0x0b, 0x0c, 0x0d];

/// A packet with these flags in its first byte and `rest` after the fixed header.
fn packet(flags: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = FIXED.to_vec();
    bytes[0] |= flags;
    bytes.extend(rest);
    bytes
}

const PADDED: u8 = 0x20;
const EXTENDED: u8 = 0x10;

fn elements(bytes: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, RtpError> {
    Ok(RtpPacket::parse(bytes)?
        .extensions()
        .map(|(id, value)| (id, value.to_vec()))
        .collect())
}

#[test]
fn the_fixed_header_is_read() {
    let bytes = packet(0, b"payload");
    let packet = RtpPacket::parse(&bytes).unwrap();
    assert!(packet.marker());
    assert_eq!(packet.payload_type().get(), 96);
    assert_eq!(packet.sequence(), SequenceNumber(0x1234));
    assert_eq!(packet.timestamp(), RtpTimestamp(0x0102_0304));
    assert_eq!(packet.ssrc(), Ssrc(0x0a0b_0c0d));
    assert_eq!(
        (packet.csrcs().count(), packet.extension_profile(), packet.header_len()),
        (0, None, 12)
    );
    assert_eq!((packet.payload(), packet.padding_len()), (&b"payload"[..], 0));
}

#[test]
fn contributing_sources_come_before_the_extension() {
    let bytes = packet(
        EXTENDED | 2,
        &[0, 0, 0, 1, 0, 0, 0, 2, 0xbe, 0xde, 0, 1, 0x10, 0xaa, 0, 0, b'p'],
    );
    let packet = RtpPacket::parse(&bytes).unwrap();
    assert_eq!(packet.csrcs().iter().collect::<Vec<_>>(), [Ssrc(1), Ssrc(2)]);
    assert_eq!(packet.extension(1), Some(&[0xaa][..]));
    assert_eq!((packet.header_len(), packet.payload()), (28, &b"p"[..]));
}

#[test]
fn one_byte_elements_are_read_as_in_rfc_8285() {
    // Section 4.2, last figure: id 1 of one byte, id 2 of two, two bytes of padding, id 3 of four;
    // ids chosen here.
    let extension = [0xbe, 0xde, 0, 3, 0x10, 1, 0x21, 2, 3, 0, 0, 0x33, 4, 5, 6, 7];
    let expected = vec![(1, vec![1]), (2, vec![2, 3]), (3, vec![4, 5, 6, 7])];
    assert_eq!(elements(&packet(EXTENDED, &extension)), Ok(expected));
}

#[test]
fn two_byte_elements_are_read_as_in_rfc_8285() {
    // Section 4.3, last figure: id 1 of no bytes, id 2 of one, padding, id 3 of four; ids chosen
    // here.
    let extension = [0x10, 0x05, 0, 3, 1, 0, 2, 1, 9, 0, 3, 4, 1, 2, 3, 4];
    let expected = vec![(1, vec![]), (2, vec![9]), (3, vec![1, 2, 3, 4])];
    assert_eq!(elements(&packet(EXTENDED, &extension)), Ok(expected));
}

#[test]
fn one_byte_lists_end_at_id_15_and_at_id_0_with_a_length() {
    for end in [0xf0, 0xff, 0x01, 0x0f] {
        let extension = [0xbe, 0xde, 0, 2, 0x10, 1, end, 0x2f, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(
            elements(&packet(EXTENDED, &extension)),
            Ok(vec![(1, vec![1])]),
            "{end:#x}"
        );
    }
}

#[test]
fn other_profiles_have_no_elements() {
    let bytes = packet(EXTENDED, &[0x12, 0x34, 0, 1, 0x1f, 0xff, 0xff, 0xff]);
    let packet = RtpPacket::parse(&bytes).unwrap();
    assert_eq!(
        (packet.extension_profile(), packet.extensions().count()),
        (Some(0x1234), 0)
    );
}

#[test]
fn an_element_that_overruns_ends_the_list_and_not_the_packet() {
    let one_byte = [0xbe, 0xde, 0, 1, 0x10, 9, 0x22, 3];
    let two_byte = [0x10, 0x00, 0, 2, 1, 1, 9, 2, 4, 1, 2, 3];
    let half_a_header = [0x10, 0x00, 0, 1, 1, 1, 9, 7];
    for extension in [&one_byte[..], &two_byte, &half_a_header] {
        let bytes = packet(EXTENDED, extension);
        assert_eq!(elements(&bytes), Ok(vec![(1, vec![9])]), "{extension:x?}");
    }
}

#[test]
fn padding_is_taken_off_and_must_fit() {
    let bytes = packet(PADDED, &[b'p', 0, 0, 3]);
    let parsed = RtpPacket::parse(&bytes).unwrap();
    assert_eq!(
        (parsed.payload(), parsed.padding_len(), parsed.is_padding_only()),
        (&b"p"[..], 3, false)
    );
    assert!(RtpPacket::parse(&packet(PADDED, &[0, 2])).unwrap().is_padding_only());
    for refused in [&[0, 0][..], &[0, 3], &[]] {
        let bytes = packet(PADDED, refused);
        assert!(
            matches!(RtpPacket::parse(&bytes), Err(RtpError::Padding(_))),
            "{refused:?}"
        );
    }
}

#[test]
fn encrypted_padding_is_not_judged() {
    let bytes = packet(PADDED, &[0xfe, 0xfe]);
    let packet = RtpPacket::parse_protected(&bytes).unwrap();
    assert_eq!(
        (packet.payload(), packet.header_len(), packet.header().has_padding),
        (&[0xfe, 0xfe][..], 12, true)
    );
}

#[test]
fn other_versions_are_refused() {
    let mut bytes = packet(0, &[]);
    for version in [0, 1, 3] {
        bytes[0] = version << 6;
        assert_eq!(RtpPacket::parse(&bytes).unwrap_err(), RtpError::Version(version));
    }
}

#[test]
fn every_prefix_of_a_header_is_too_short() {
    let bytes = packet(EXTENDED | 1, &[0, 0, 0, 1, 0xbe, 0xde, 0, 1, 0x12, 1, 2, 3]);
    for end in 0..bytes.len() {
        assert_eq!(
            RtpPacket::parse(&bytes[..end]).unwrap_err(),
            RtpError::Truncated,
            "{end} bytes"
        );
    }
    assert!(RtpPacket::parse(&bytes).is_ok());
}

#[test]
fn the_form_follows_from_ids_and_lengths() {
    let form = |id: u8, len: usize| {
        ExtensionWriter::new(&[(1, &[0]), (id, &[0; 255][..len])])
            .unwrap()
            .form()
    };
    assert_eq!(form(14, 16), ExtensionForm::OneByte);
    assert_eq!(form(14, 17), ExtensionForm::TwoByte);
    assert_eq!(form(14, 0), ExtensionForm::TwoByte);
    assert_eq!(form(15, 1), ExtensionForm::TwoByte);
    assert_eq!(form(255, 255), ExtensionForm::TwoByte);
}

#[test]
fn unwritable_headers_are_refused() {
    assert_eq!(
        ExtensionWriter::new(&[(0, &[1])]).unwrap_err(),
        RtpWriteError::ExtensionIdZero
    );
    assert_eq!(
        ExtensionWriter::new(&[(1, &[0; 256])]).unwrap_err(),
        RtpWriteError::ExtensionTooLong
    );
    let too_many = vec![(1, &[0; 255][..]); 1021];
    assert_eq!(
        ExtensionWriter::new(&too_many).unwrap_err(),
        RtpWriteError::ExtensionTooLong
    );
    assert!(ExtensionWriter::new(&too_many[..1019]).is_ok());

    let bytes = packet(0, &[]);
    let header = RtpPacket::parse(&bytes).unwrap().header();
    let mut short = [0; 11];
    assert_eq!(
        header.write(&ExtensionWriter::NONE, &mut short),
        Err(RtpWriteError::BufferTooShort)
    );
    assert_eq!(short, [0; 11]);
}

#[test]
fn source_lists_are_whole_words_and_at_most_fifteen() {
    assert_eq!(Csrcs::from_bytes(&[0; 60]).map(Csrcs::count), Some(15));
    assert_eq!((Csrcs::from_bytes(&[0; 64]), Csrcs::from_bytes(&[0; 5])), (None, None));
}

/// Extension elements of every length, mostly ones that fit the one-byte form.
fn some_elements() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let small = (1u8..=14, prop::collection::vec(any::<u8>(), 1..=16));
    let large = (1u8..=255, prop::collection::vec(any::<u8>(), 0..=255));
    prop_oneof![3 => prop::collection::vec(small, 0..8), 1 => prop::collection::vec(large, 0..8)]
}

proptest! {
    #[test]
    fn written_packets_are_read_back(
        fixed: (bool, u16, u32, u32),
        payload_type in 0u8..128,
        csrcs in prop::collection::vec(any::<[u8; 4]>(), 0..=15),
        elements in some_elements(),
        payload: Vec<u8>,
        padding: u8,
    ) {
        let (marker, sequence, timestamp, ssrc) = fixed;
        let csrcs = csrcs.concat();
        let header = RtpHeader {
            has_padding: padding > 0,
            marker,
            payload_type: PayloadType::new(payload_type).unwrap(),
            sequence: SequenceNumber(sequence),
            timestamp: RtpTimestamp(timestamp),
            ssrc: Ssrc(ssrc),
            csrcs: Csrcs::from_bytes(&csrcs).unwrap(),
        };
        let borrowed: Vec<_> = elements.iter().map(|(id, value)| (*id, &value[..])).collect();
        let extensions = ExtensionWriter::new(&borrowed).unwrap();

        let mut bytes = vec![0xff; header.encoded_len(&extensions)];
        prop_assert_eq!(header.write(&extensions, &mut bytes), Ok(bytes.len()));
        bytes.extend(&payload);
        if padding > 0 {
            let start = bytes.len();
            bytes.resize(start + usize::from(padding), 0xff);
            fill_padding(&mut bytes[start..]);
        }

        let packet = RtpPacket::parse(&bytes).unwrap();
        prop_assert_eq!(packet.header(), header);
        prop_assert_eq!(packet.extensions().collect::<Vec<_>>(), borrowed);
        prop_assert_eq!(packet.payload(), &payload[..]);
        prop_assert_eq!(packet.padding_len(), usize::from(padding));
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic(mut bytes: Vec<u8>, flags: u8) {
        if let Some(first) = bytes.first_mut() {
            *first = 0x80 | flags & 0x3f;
        }
        if let Ok(packet) = RtpPacket::parse(&bytes) {
            prop_assert_eq!(packet.header_len() + packet.payload().len() + packet.padding_len(), bytes.len());
        }
    }
}
