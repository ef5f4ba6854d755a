//! Tests of compounds, of every packet type, and of every truncation.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{NtpTime, RtpTimestamp, SequenceNumber};

const US: Ssrc = Ssrc(0x0102_0304);
const STREAM: Ssrc = Ssrc(0xa0b0_c0d0);

/// The packets of a datagram without faults.
fn read(datagram: &[u8]) -> Vec<RtcpPacket<'_>> {
    RtcpPacket::compound(datagram).collect::<Result<_, _>>().unwrap()
}

/// The bytes that `write` appends, without a report before them.
fn feedback(write: impl FnOnce(&mut RtcpWriter<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut RtcpWriter::reduced_size(&mut out, US));
    out
}

fn some_block() -> ReportBlock {
    ReportBlock {
        ssrc: STREAM,
        fraction_lost: 64,
        cumulative_lost: -3,
        highest_sequence: 0x0001_fffe,
        jitter: 90,
        last_sender_report: 0xb705_2000,
        delay_since_last_sender_report: 0x0005_4000,
    }
}

/// One of everything that can be written.
fn everything() -> Vec<u8> {
    let info = SenderInfo {
        ntp: NtpTime(1 << 40),
        rtp: RtpTimestamp(7),
        packets: 8,
        octets: 9,
    };
    let mut out = Vec::new();
    let mut reports = TransportFeedbackWriter::new(US, STREAM);
    RtcpWriter::sender_report(&mut out, US, "weir", &info, &[some_block(), some_block()])
        .also_sender_report(STREAM, "weir", &info)
        .nack(STREAM, [1, 2, 18, 400].map(SequenceNumber))
        .pli(STREAM)
        .fir(FirEntry {
            media: STREAM,
            sequence: 9,
        })
        .remb(1_000_000, &[STREAM, US])
        .transport_feedback(
            &mut reports,
            &[(65_535, Some(ArrivalTicks(5))), (0, None), (1, Some(ArrivalTicks(4)))],
            99,
        )
        .bye(&[US, STREAM]);
    out
}

#[test]
fn a_compound_reads_as_it_was_written() {
    let out = everything();
    let names: Vec<_> = read(&out)
        .iter()
        .map(|packet| match packet {
            RtcpPacket::SenderReport(report) => format!("sr {} {}", report.sender, report.blocks.count()),
            RtcpPacket::ReceiverReport(report) => format!("rr {}", report.sender),
            RtcpPacket::SourceDescription(description) => {
                let names = description.chunks().map(|chunk| (chunk.ssrc, chunk.cname()));
                format!("sdes {:?}", names.collect::<Vec<_>>())
            }
            RtcpPacket::Bye(bye) => format!("bye {:?}", bye.sources().collect::<Vec<_>>()),
            RtcpPacket::Nack(nack) => format!("nack {:?}", nack.sequences().map(|s| s.0).collect::<Vec<_>>()),
            RtcpPacket::Pli(pli) => format!("pli {}", pli.media),
            RtcpPacket::Fir(fir) => format!("fir {:?}", fir.entries().map(|e| e.sequence).collect::<Vec<_>>()),
            RtcpPacket::Remb(remb) => format!("remb {} {}", remb.bitrate, remb.sources().len()),
            RtcpPacket::TransportFeedback(feedback) => format!("twcc {:?}", feedback.packets().collect::<Vec<_>>()),
            RtcpPacket::Unknown(unknown) => format!("unknown {}", unknown.packet_type),
        })
        .collect();
    let expected = [
        "sr 16909060 2",
        "sdes [(Ssrc(16909060), Some([119, 101, 105, 114]))]",
        "sr 2695938256 0",
        "sdes [(Ssrc(2695938256), Some([119, 101, 105, 114]))]",
        "nack [1, 2, 18, 400]",
        "pli 2695938256",
        "fir [9]",
        "remb 1000000 2",
        "twcc [(65535, Some(ArrivalTicks(5))), (0, None), (1, Some(ArrivalTicks(4)))]",
        "bye [Ssrc(16909060), Ssrc(2695938256)]",
    ];
    assert_eq!(names, expected);
}

#[test]
fn every_prefix_ends_in_an_error_or_between_two_packets() {
    let out = everything();
    for end in 0..out.len() {
        let packets: Vec<_> = RtcpPacket::compound(&out[..end]).collect();
        let is_whole = packets.iter().all(Result::is_ok);
        assert!(
            is_whole
                || packets
                    .last()
                    .is_some_and(|last| matches!(last, Err(RtcpError::Truncated))),
            "{end} bytes"
        );
    }
}

#[test]
fn a_packet_that_contradicts_itself_does_not_hide_the_next() {
    // A receiver report that claims a block it does not have, then a PLI.
    let mut datagram = vec![0x81, RECEIVER_REPORT, 0, 1, 0, 0, 0, 1];
    Pli {
        sender: US,
        media: STREAM,
    }
    .write(&mut datagram);
    let packets: Vec<_> = RtcpPacket::compound(&datagram).collect();
    assert!(matches!(
        packets[0],
        Err(RtcpError::Malformed {
            packet_type: RECEIVER_REPORT,
            count: 1
        })
    ));
    assert!(matches!(
        packets[1],
        Ok(RtcpPacket::Pli(Pli {
            sender: US,
            media: STREAM
        }))
    ));
    assert_eq!(packets.len(), 2);
}

#[test]
fn a_wrong_version_ends_the_datagram() {
    let packets: Vec<_> = RtcpPacket::compound(&[0x41, 200, 0, 0, 0x80, 201, 0, 0]).collect();
    assert!(matches!(packets[..], [Err(RtcpError::Version(1))]));
}

#[test]
fn padding_is_removed_from_any_packet_and_must_fit() {
    // A PLI with four bytes of padding, followed by another packet.
    let mut datagram = vec![0xa1, PAYLOAD_FEEDBACK, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4];
    datagram.extend([0x80, 207, 0, 0]);
    let packets = read(&datagram);
    assert!(matches!(
        packets[0],
        RtcpPacket::Pli(Pli {
            sender: Ssrc(1),
            media: Ssrc(2)
        })
    ));
    assert!(matches!(
        packets[1],
        RtcpPacket::Unknown(UnknownRtcp {
            packet_type: 207,
            count: 0,
            body: []
        })
    ));
    for count in [0, 13] {
        datagram[15] = count;
        let first = RtcpPacket::compound(&datagram).next().unwrap();
        assert_eq!(
            first.unwrap_err(),
            RtcpError::Padding {
                packet_type: PAYLOAD_FEEDBACK
            }
        );
    }
}

#[test]
fn round_trip_is_as_in_the_rfc_figure() {
    // RFC 3550 section 6.4.1: received at 0xb710:8000, report of 0xb705:2000 held for 5.25 s, round
    // trip 6.125 s.
    let arrival = NtpTime(0xb710_8000 << 16);
    assert_eq!(some_block().round_trip(arrival), Some(Duration::from_millis(6125)));
    assert_eq!(
        some_block().round_trip(NtpTime(0xb705_2001 << 16)),
        Some(Duration::ZERO)
    );
    assert_eq!(ReportBlock::default().round_trip(arrival), None);
}

#[test]
fn more_blocks_than_fit_go_into_further_reports() {
    let blocks = [some_block(); 70];
    let mut out = Vec::new();
    write_sender_report(&mut out, US, &SenderInfo::default(), &blocks);
    let counts: Vec<_> = read(&out)
        .iter()
        .map(|packet| match packet {
            RtcpPacket::SenderReport(report) => report.blocks.count(),
            RtcpPacket::ReceiverReport(report) => report.blocks.count(),
            _ => unreachable!(),
        })
        .collect();
    assert_eq!(counts, [31, 31, 8]);
}

#[test]
fn source_descriptions_with_several_items_and_chunks_are_read() {
    let body = [
        0, 0, 0, 1, 2, 1, b'n', 1, 2, b'a', b'b', 0, // NAME "n", CNAME "ab", end
        0, 0, 0, 2, 0, 0, 0, 0, // no items
    ];
    let description = SourceDescription::parse(2, &body).unwrap();
    let chunks: Vec<_> = description
        .chunks()
        .map(|c| (c.ssrc.0, c.cname(), c.items().count()))
        .collect();
    assert_eq!(chunks, [(1, Some(&b"ab"[..]), 2), (2, None, 0)]);
    assert!(SourceDescription::parse(3, &body).is_none(), "a chunk is missing");
    assert!(
        SourceDescription::parse(1, &[0, 0, 0, 1, 1, 9, b'a', 0]).is_none(),
        "an item is cut short"
    );
    assert!(
        SourceDescription::parse(1, &[0, 0, 0, 1, 1, 2, b'a', b'b']).is_none(),
        "the end is missing"
    );
}

#[test]
fn goodbyes_may_have_a_reason() {
    let bye = Bye::parse(1, &[0, 0, 0, 1, 2, b'o', b'k', 0]).unwrap();
    assert_eq!(bye.reason, Some(&b"ok"[..]));
    assert_eq!(Bye::parse(1, &[0, 0, 0, 1]).unwrap().reason, None);
    assert!(Bye::parse(1, &[0, 0, 0, 1, 9, b'o', b'k', 0]).is_none());
    assert!(Bye::parse(2, &[0, 0, 0, 1]).is_none());
}

#[test]
fn remb_has_eighteen_significant_bits() {
    // Draft section 2.2 puts the exponent in the upper six bits: 0x3ffff << 2.
    let out = feedback(|writer| _ = writer.remb(0x3_ffff << 2 | 3, &[STREAM]));
    assert_eq!(out[16..20], [1, 0b0000_1011, 0xff, 0xff]);
    let [RtcpPacket::Remb(remb)] = read(&out)[..] else {
        panic!("one packet")
    };
    assert_eq!(remb.bitrate, 0x3_ffff << 2);
    assert_eq!(remb.sources().collect::<Vec<_>>(), [STREAM]);

    let mut too_large = out.clone();
    too_large[17] = 0xff;
    assert!(RtcpPacket::compound(&too_large).next().unwrap().is_err());
    let mut other = out;
    other[12] = b'r';
    assert!(
        matches!(read(&other)[..], [RtcpPacket::Unknown(_)]),
        "some other application's feedback"
    );
}

#[test]
fn a_nack_entry_holds_seventeen_packets() {
    let out = feedback(|writer| _ = writer.nack(STREAM, (65_530..=65_535).chain(0..11).map(SequenceNumber)));
    let [RtcpPacket::Nack(nack)] = read(&out)[..] else {
        panic!("one packet")
    };
    let entries: Vec<_> = nack.entries().collect();
    assert_eq!(
        entries,
        [NackEntry {
            first: SequenceNumber(65_530),
            following: 0xffff
        }]
    );
    assert!(feedback(|writer| _ = writer.nack(STREAM, [])).is_empty());
}

proptest! {
    #[test]
    fn report_blocks_survive(
        ssrc: u32, fraction_lost: u8, cumulative_lost in -0x80_0000i32..0x80_0000,
        highest_sequence: u32, jitter: u32, last_sender_report: u32, delay_since_last_sender_report: u32,
        info: (u64, u32, u32, u32),
    ) {
        let block = ReportBlock {
            ssrc: Ssrc(ssrc), fraction_lost, cumulative_lost, highest_sequence, jitter, last_sender_report,
            delay_since_last_sender_report,
        };
        let (ntp, rtp, packets, octets) = info;
        let info = SenderInfo { ntp: NtpTime(ntp), rtp: RtpTimestamp(rtp), packets, octets };
        let mut out = Vec::new();
        write_sender_report(&mut out, US, &info, &[block]);
        let [RtcpPacket::SenderReport(report)] = read(&out)[..] else { panic!("one packet") };
        prop_assert_eq!(report.info, info);
        prop_assert_eq!(report.blocks.iter().collect::<Vec<_>>(), [block]);
    }

    #[test]
    fn names_survive_at_any_length(cname in "[a-z]{0,255}") {
        let mut out = Vec::new();
        RtcpWriter::receiver_report(&mut out, US, &cname, &[]);
        let packets = read(&out);
        let RtcpPacket::SourceDescription(description) = packets[1] else { panic!("the second packet names us") };
        let chunk = description.chunks().next().unwrap();
        prop_assert_eq!((chunk.ssrc, chunk.cname()), (US, Some(cname.as_bytes())));
    }

    #[test]
    fn a_nack_asks_for_exactly_the_given_packets(mut sequences: Vec<u16>, start: u16, run in 0u16..700) {
        sequences.extend((0..run).map(|offset| start.wrapping_add(offset * 20)));
        let out = feedback(|writer| _ = writer.nack(STREAM, sequences.iter().copied().map(SequenceNumber)));
        let mut asked = Vec::new();
        for packet in read(&out) {
            let RtcpPacket::Nack(nack) = packet else { panic!("only nacks") };
            prop_assert!(nack.entries().len() <= NACK_ENTRIES_MAX);
            asked.extend(nack.sequences().map(|sequence| sequence.0));
        }
        asked.sort_unstable();
        asked.dedup();
        sequences.sort_unstable();
        sequences.dedup();
        prop_assert_eq!(asked, sequences);
    }

    #[test]
    fn estimates_lose_less_than_one_part_in_131_072(bitrate: u64, count in 0usize..300) {
        let out = feedback(|writer| _ = writer.remb(bitrate, &vec![STREAM; count]));
        let [RtcpPacket::Remb(remb)] = read(&out)[..] else { panic!("one packet") };
        prop_assert!(remb.bitrate <= bitrate && bitrate - remb.bitrate <= bitrate >> 17);
        prop_assert_eq!(remb.sources().len(), count.min(255));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(datagram: Vec<u8>) {
        prop_assert!(RtcpPacket::compound(&datagram).count() <= datagram.len() / 4 + 1);
    }
}
