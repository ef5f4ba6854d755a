//! Tests of a report written by hand, of faults, and of the round trip.

use proptest::prelude::*;

use super::*;
use crate::rtcp::{RtcpPacket, RtcpWriter};

type Arrivals = Vec<(u16, Option<ArrivalTicks>)>;

fn read(datagram: &[u8]) -> Vec<TransportFeedback<'_>> {
    RtcpPacket::compound(datagram)
        .map(|packet| match packet {
            Ok(RtcpPacket::TransportFeedback(feedback)) => feedback,
            other => panic!("{other:?} is not transport-wide feedback"),
        })
        .collect()
}

fn write(arrivals: &Arrivals, len_max: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = TransportFeedbackWriter::new(Ssrc(1), Ssrc(2));
    RtcpWriter::reduced_size(&mut out, Ssrc(1)).transport_feedback(&mut writer, arrivals, len_max);
    out
}

/// Twelve packets, two of the last five missing, in all three chunk forms.
const BY_HAND: [u8; 40] = [
    0xaf, 0xcd, 0x00, 0x09, // padded, format 15; type 205; nine words follow
    0x00, 0x00, 0x00, 0x01, // sender
    0x00, 0x00, 0x00, 0x02, // media
    0xff, 0xfe, 0x00, 0x0c, // base 65,534; twelve statuses
    0x00, 0x00, 0x03, 0x2a, // reference time 3, which is 768 ticks; report 42
    0xd6, 0x01, // 11 01 01 10 00 00 00 01: small, small, large, three missing, small
    0x40, 0x02, // 0 10 and 2: two large
    0x98, 0x00, // 10 011: missing, small, small
    0x04, 0xff, 0xff, 0xf0, 0x0a, // +4, +255, -16, +10
    0x01, 0x00, 0xff, 0xff, // +256, -1
    0x00, 0x01, // 0, +1
    0x00, 0x00, 0x03, // padding
];

fn by_hand_arrivals() -> Arrivals {
    let arrivals =
        [772, 1027, 1011, 0, 0, 0, 1021, 1277, 1276, 0, 1276, 1277].map(|t| (t > 0).then_some(ArrivalTicks(t)));
    (65_534..=65_535).chain(0..10).zip(arrivals).collect()
}

#[test]
fn a_report_written_by_hand_is_understood() {
    let [feedback] = read(&BY_HAND)[..] else {
        panic!("one packet")
    };
    assert_eq!((feedback.sender, feedback.media), (Ssrc(1), Ssrc(2)));
    assert_eq!((feedback.base_sequence, feedback.status_count), (65_534, 12));
    assert_eq!((feedback.reference_time, feedback.feedback_count), (3, 42));
    assert_eq!(feedback.packets().collect::<Vec<_>>(), by_hand_arrivals());
}

#[test]
fn the_same_report_is_written_one_chunk_shorter() {
    let out = write(&by_hand_arrivals(), 1200);
    let mut expected = BY_HAND[..20].to_vec();
    expected[3] = 8;
    expected[19] = 0;
    // After the first vector: 11 10 10 00 01 01, large, large, missing, small, small.
    expected.extend([0xd6, 0x01, 0xe8, 0x50]);
    expected.extend(&BY_HAND[26..37]);
    expected.push(1);
    assert_eq!(out, expected);
}

#[test]
fn a_report_cut_anywhere_is_refused() {
    // Without the padding, so that every byte counts; the length field is made to fit each time.
    let body = &BY_HAND[4..37];
    assert!(TransportFeedback::parse(body).is_some());
    for end in 0..body.len() {
        assert!(TransportFeedback::parse(&body[..end]).is_none(), "{end} bytes");
    }
}

#[test]
fn a_report_about_nothing_is_refused() {
    let mut body = BY_HAND[4..37].to_vec();
    body[10..12].fill(0);
    assert!(TransportFeedback::parse(&body).is_none());
}

#[test]
fn zeros_behind_the_deltas_are_passed_over() {
    let mut body = BY_HAND[4..37].to_vec();
    body.extend([0, 0, 0]);
    let feedback = TransportFeedback::parse(&body).unwrap();
    assert_eq!(feedback.packets().collect::<Vec<_>>(), by_hand_arrivals());
}

#[test]
fn arrivals_too_far_apart_go_into_two_packets() {
    let arrivals = vec![
        (7, Some(ArrivalTicks(1000))),
        (8, None),
        (9, Some(ArrivalTicks(1000 + 32_768))),
    ];
    let out = write(&arrivals, 1200);
    let packets = read(&out);
    let shape: Vec<_> = packets
        .iter()
        .map(|f| (f.base_sequence, f.status_count, f.feedback_count))
        .collect();
    assert_eq!(shape, [(7, 2, 0), (9, 1, 1)]);
}

#[test]
fn a_report_in_which_nothing_arrived_keeps_the_reference_time() {
    let mut writer = TransportFeedbackWriter::new(Ssrc(1), Ssrc(2));
    let mut out = Vec::new();
    writer.write_next(&[(1, Some(ArrivalTicks(768)))], 1200, &mut out);
    writer.write_next(&[(2, None)], 1200, &mut out);
    assert_eq!(read(&out).iter().map(|f| f.reference_time).collect::<Vec<_>>(), [3, 3]);
}

#[test]
fn a_gap_in_the_numbers_begins_a_new_packet() {
    let out = write(&vec![(1, None), (3, None), (3, None)], 1200);
    assert_eq!(
        read(&out).iter().map(|f| f.base_sequence).collect::<Vec<_>>(),
        [1, 3, 3]
    );
}

#[test]
fn ticks_are_quarter_milliseconds() {
    assert_eq!(ArrivalTicks::from_epoch(Duration::from_micros(1_999)), ArrivalTicks(7));
    assert_eq!(
        ArrivalTicks::from_epoch(Duration::from_secs(1 << 21)).distance_from(ArrivalTicks(0)),
        -201_326_592
    );
}

/// Packets in a row whose arrivals mostly follow each other, with losses, reordering and pauses.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    let step = prop_oneof![
        8 => (0i32..400).prop_map(Some),
        2 => (-300i32..0).prop_map(Some),
        1 => (-100_000i32..100_000).prop_map(Some),
        4 => Just(None),
    ];
    (
        any::<u16>(),
        any::<u32>(),
        prop::collection::vec((step, 1usize..20), 0..200),
    )
        .prop_map(|(base, start, steps)| {
            let mut clock = ArrivalTicks(start);
            let arrivals = steps
                .into_iter()
                .flat_map(|(step, count)| std::iter::repeat_n(step, count))
                .map(|step| {
                    step.map(|ticks| {
                        clock.0 = clock.0.wrapping_add_signed(ticks);
                        clock
                    })
                });
            (0..)
                .map(|offset: u16| base.wrapping_add(offset))
                .zip(arrivals)
                .collect()
        })
}

proptest! {
    #[test]
    fn every_arrival_survives_in_packets_that_fit(arrivals in arrivals(), len_max in 0usize..1500) {
        let out = write(&arrivals, len_max);
        let packets = read(&out);
        let said: Arrivals = packets.iter().flat_map(|feedback| feedback.packets()).collect();
        prop_assert_eq!(said, arrivals);
        for (position, feedback) in packets.iter().enumerate() {
            prop_assert_eq!(usize::from(feedback.feedback_count), position % 256);
            let len = 20 + feedback.deltas.len();
            prop_assert!(len <= len_max || feedback.status_count == 1, "{} bytes of {}", len, len_max);
        }
    }

    #[test]
    fn any_body_is_refused_or_has_the_stated_counts(body: Vec<u8>) {
        if let Some(feedback) = TransportFeedback::parse(&body) {
            prop_assert_eq!(feedback.packets().count(), usize::from(feedback.status_count));
        }
    }
}
