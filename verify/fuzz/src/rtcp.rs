//! RTCP compounds.

use wire::rtcp::{
    ArrivalTicks, RtcpPacket, RtcpWriter, SourceDescription, TransportFeedback, TransportFeedbackWriter,
    write_receiver_report, write_sender_report,
};
use wire::{SequenceNumber, Ssrc};

use crate::assert_inside;

/// A compound: reading it ends, and each packet is read back the same after it was written.
pub fn rtcp(data: &[u8]) {
    let packets: Vec<_> = RtcpPacket::compound(data).collect();
    // Every packet takes four bytes at least, and an error that takes none is the last.
    assert!(packets.len() <= data.len() / 4 + 1);
    // Two bytes may list 8,191 packets. Reading them takes no memory; the copy for the comparison
    // does.
    let mut copied_max = 2 * data.len();
    for packet in packets.into_iter().flatten() {
        match packet {
            RtcpPacket::TransportFeedback(feedback) => check_feedback(&feedback, &mut copied_max),
            packet => check(data, &packet),
        }
    }
}

/// Transport-wide feedback, without waiting for the mutator to find its type, format and length.
pub fn transport_feedback(data: &[u8]) {
    let body = &data[..data.len().min(4 * usize::from(u16::MAX)) / 4 * 4];
    let words = (body.len() / 4) as u16;
    let mut datagram = vec![0x8f, 205];
    datagram.extend(words.to_be_bytes());
    datagram.extend(body);
    rtcp(&datagram);
}

fn check(data: &[u8], packet: &RtcpPacket<'_>) {
    let mut out = Vec::new();
    match packet {
        RtcpPacket::SenderReport(report) => {
            let blocks: Vec<_> = report.blocks.iter().collect();
            write_sender_report(&mut out, report.sender, &report.info, &blocks);
            let RtcpPacket::SenderReport(again) = only(&out) else {
                panic!("another type")
            };
            assert_eq!((again.sender, again.info), (report.sender, report.info));
            assert!(again.blocks.iter().eq(blocks));
        }
        RtcpPacket::ReceiverReport(report) => {
            let blocks: Vec<_> = report.blocks.iter().collect();
            write_receiver_report(&mut out, report.sender, &blocks);
            let RtcpPacket::ReceiverReport(again) = only(&out) else {
                panic!("another type")
            };
            assert_eq!(again.sender, report.sender);
            assert!(again.blocks.iter().eq(blocks));
        }
        RtcpPacket::SourceDescription(description) => check_names(data, description),
        RtcpPacket::Bye(bye) => {
            let sources: Vec<_> = bye.sources().collect();
            writer(&mut out).bye(&sources);
            if let Some(RtcpPacket::Bye(again)) = RtcpPacket::compound(&out).map(Result::unwrap).next() {
                assert!(again.sources().eq(sources));
            }
        }
        RtcpPacket::Nack(nack) => check_nack(nack.media, nack.sequences().collect()),
        RtcpPacket::Pli(pli) => {
            pli.write(&mut out);
            assert!(matches!(only(&out), RtcpPacket::Pli(again) if again == *pli));
        }
        RtcpPacket::Fir(fir) => {
            for entry in fir.entries() {
                out.clear();
                writer(&mut out).fir(entry);
                assert!(matches!(only(&out), RtcpPacket::Fir(again) if again.entries().eq([entry])));
            }
        }
        RtcpPacket::Remb(remb) => {
            let sources: Vec<_> = remb.sources().collect();
            writer(&mut out).remb(remb.bitrate, &sources);
            let RtcpPacket::Remb(again) = only(&out) else {
                panic!("another type")
            };
            assert_eq!(again.bitrate, remb.bitrate);
            assert!(again.sources().eq(sources));
        }
        RtcpPacket::TransportFeedback(_) => {}
        RtcpPacket::Unknown(unknown) => assert_inside(data, unknown.body),
    }
}

fn writer(out: &mut Vec<u8>) -> RtcpWriter<'_> {
    RtcpWriter::reduced_size(out, Ssrc(1))
}

/// The single packet in a written compound.
fn only(datagram: &[u8]) -> RtcpPacket<'_> {
    let mut packets = RtcpPacket::compound(datagram).map(|packet| packet.expect("a written packet can be read"));
    let first = packets.next().expect("something was written");
    assert!(packets.next().is_none(), "more than one packet was written");
    first
}

fn check_names(data: &[u8], description: &SourceDescription<'_>) {
    assert!(description.chunks().count() <= 31);
    for chunk in description.chunks() {
        chunk.items().for_each(|(_, text)| assert_inside(data, text));
        let Some(Ok(name)) = chunk.cname().map(str::from_utf8) else {
            continue;
        };
        let mut out = Vec::new();
        RtcpWriter::receiver_report(&mut out, chunk.ssrc, name, &[]);
        let again = RtcpPacket::compound(&out)
            .map(Result::unwrap)
            .find_map(|packet| match packet {
                RtcpPacket::SourceDescription(description) => description.chunks().next(),
                _ => None,
            });
        let again = again.expect("the name was written");
        assert_eq!((again.ssrc, again.cname()), (chunk.ssrc, Some(name.as_bytes())));
    }
}

fn check_nack(media: Ssrc, asked: Vec<SequenceNumber>) {
    let mut out = Vec::new();
    writer(&mut out).nack(media, asked.iter().copied());
    let again = RtcpPacket::compound(&out)
        .map(Result::unwrap)
        .flat_map(|packet| match packet {
            RtcpPacket::Nack(nack) => nack.sequences().collect::<Vec<_>>(),
            _ => panic!("another type"),
        });
    assert_eq!(in_order(again.collect()), in_order(asked));
}

fn in_order(sequences: Vec<SequenceNumber>) -> Vec<u16> {
    let mut numbers: Vec<_> = sequences.into_iter().map(|sequence| sequence.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Reads all of it, and compares a copy if `copied_max` packets are enough for that.
fn check_feedback(feedback: &TransportFeedback<'_>, copied_max: &mut usize) {
    let count = usize::from(feedback.status_count);
    assert_eq!(feedback.packets().count(), count);
    let Some(left) = copied_max.checked_sub(count) else {
        return;
    };
    *copied_max = left;
    let packets: Vec<(u16, Option<ArrivalTicks>)> = feedback.packets().collect();
    let mut reports = TransportFeedbackWriter::new(feedback.sender, feedback.media);
    let mut out = Vec::new();
    writer(&mut out).transport_feedback(&mut reports, &packets, 1200);
    let again = RtcpPacket::compound(&out)
        .map(Result::unwrap)
        .flat_map(|packet| match packet {
            RtcpPacket::TransportFeedback(feedback) => feedback.packets(),
            _ => panic!("another type"),
        });
    assert!(again.eq(packets), "arrivals changed when they were written again");
}
