//! Valid inputs to start from, one function for each kind. A mutator finds little without seeds.

use wire::rtcp::{ArrivalTicks, FirEntry, ReportBlock, RtcpWriter, SenderInfo, TransportFeedbackWriter};
use wire::{Csrcs, ExtensionWriter, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc, fill_padding};

/// RTP packets: without extension, in both extension forms, with sources, padded, and padding
/// alone.
pub fn rtp() -> Vec<Vec<u8>> {
    let one_byte: [(u8, &[u8]); 3] = [(1, b"0"), (3, &[1, 2, 3]), (4, b"hi")];
    let two_byte: [(u8, &[u8]); 3] = [(1, b""), (20, &[7; 20]), (15, b"q")];
    let csrcs = Csrcs::from_bytes(&[0, 0, 0, 1, 0, 0, 0, 2]).expect("two words");
    vec![
        rtp_packet(&[], Csrcs::NONE, b"payload", 0),
        rtp_packet(&one_byte, Csrcs::NONE, &[0x90, 0x80, 0x11, 0x10], 0),
        rtp_packet(&two_byte, csrcs, b"payload", 4),
        rtp_packet(&one_byte, csrcs, b"", 255),
    ]
}

fn rtp_packet(elements: &[(u8, &[u8])], csrcs: Csrcs<'_>, payload: &[u8], padding: usize) -> Vec<u8> {
    let header = RtpHeader {
        has_padding: padding > 0,
        marker: true,
        payload_type: PayloadType::new(96).expect("seven bits"),
        sequence: SequenceNumber(65_530),
        timestamp: RtpTimestamp(90_000),
        ssrc: Ssrc(0x1122_3344),
        csrcs,
    };
    let extensions = ExtensionWriter::new(elements).expect("valid elements");
    let mut packet = vec![0; header.encoded_len(&extensions)];
    header
        .write(&extensions, &mut packet)
        .expect("a buffer of the length asked for");
    packet.extend(payload);
    let start = packet.len();
    packet.resize(start + padding, 0);
    if padding > 0 {
        fill_padding(&mut packet[start..]);
    }
    packet
}

/// Compounds: one with everything, and each feedback message alone.
pub fn rtcp() -> Vec<Vec<u8>> {
    let block = ReportBlock {
        ssrc: Ssrc(9),
        fraction_lost: 3,
        cumulative_lost: -1,
        ..ReportBlock::default()
    };
    let parts: [fn(&mut RtcpWriter<'_>); 6] = [
        |writer| _ = writer.nack(Ssrc(2), [5, 6, 30].map(SequenceNumber)),
        |writer| _ = writer.pli(Ssrc(2)),
        |writer| {
            _ = writer.fir(FirEntry {
                media: Ssrc(2),
                sequence: 1,
            })
        },
        |writer| _ = writer.remb(300_000, &[Ssrc(2), Ssrc(3)]),
        |writer| _ = writer.bye(&[Ssrc(1)]),
        |writer| {
            let mut reports = TransportFeedbackWriter::new(Ssrc(1), Ssrc(2));
            writer.transport_feedback(&mut reports, &some_arrivals(), 1200);
        },
    ];
    let mut compound = Vec::new();
    let mut writer = RtcpWriter::sender_report(&mut compound, Ssrc(1), "weir", &SenderInfo::default(), &[block, block]);
    parts.iter().for_each(|part| part(&mut writer));

    let alone = parts.iter().map(|part| {
        let mut packet = Vec::new();
        part(&mut RtcpWriter::reduced_size(&mut packet, Ssrc(1)));
        packet
    });
    let mut seeds: Vec<_> = alone.collect();
    let mut receiver = Vec::new();
    RtcpWriter::receiver_report(&mut receiver, Ssrc(1), "a", &[block]);
    seeds.extend([compound, receiver]);
    seeds
}

/// Transport-wide feedback without its RTCP header: all three chunk forms, and losses alone.
pub fn transport_feedback() -> Vec<Vec<u8>> {
    let lost: Vec<_> = (0..100).map(|sequence| (sequence, None)).collect();
    [some_arrivals(), lost]
        .iter()
        .map(|arrivals| {
            let mut packet = Vec::new();
            TransportFeedbackWriter::new(Ssrc(1), Ssrc(2)).write_next(arrivals, 1200, &mut packet);
            packet.split_off(4)
        })
        .collect()
}

/// Reports on stream 500 and its first packets, honest and not.
pub fn receiver_reports() -> Vec<Vec<u8>> {
    let parts: [fn(&mut RtcpWriter<'_>); 5] = [
        |writer| _ = writer.nack(Ssrc(500), (0..200).map(SequenceNumber)),
        |writer| _ = writer.pli(Ssrc(500)),
        |writer| _ = writer.remb(0, &[Ssrc(500)]),
        |writer| _ = writer.remb(1 << 60, &[Ssrc(500)]),
        |writer| {
            let arrivals: Vec<_> = (0..8)
                .map(|n| (n, Some(ArrivalTicks(1000 + 400 * u32::from(n)))))
                .collect();
            writer.transport_feedback(&mut TransportFeedbackWriter::new(Ssrc(1), Ssrc(2)), &arrivals, 1200);
        },
    ];
    let alone = parts.iter().map(|part| {
        let mut packet = Vec::new();
        part(&mut RtcpWriter::reduced_size(&mut packet, Ssrc(1)));
        packet
    });
    let mut seeds: Vec<_> = alone.collect();
    seeds.push(seeds.concat());
    seeds.extend(rtcp());
    seeds
}

/// A run, a mix of small and large steps, and losses between small ones.
fn some_arrivals() -> Vec<(u16, Option<ArrivalTicks>)> {
    let run = (0..40).map(|n| Some(1000 + 4 * n));
    let mixed = [Some(2000), Some(1990), None, Some(2400), Some(2401), None, Some(9000)];
    let lossy = (0..14).map(|n| (n % 3 != 0).then_some(9000 + n));
    let arrivals = run.chain(mixed).chain(lossy).map(|ticks| ticks.map(ArrivalTicks));
    (0..).map(|n: u16| n.wrapping_add(65_500)).zip(arrivals).collect()
}

/// VP8 payloads: the shortest descriptor, and one with every field.
pub fn vp8() -> Vec<Vec<u8>> {
    vec![
        vec![0x10, 0x00, 0x9d, 0x01, 0x2a],
        vec![0x90, 0x80, 0x11, 0x10],
        vec![0xb2, 0xf0, 0x92, 0x34, 0x56, 0xa9, 0x01, 0x02],
    ]
}

/// VP9 payloads: a key frame with a scalability structure, and a flexible-mode layer frame with
/// references.
pub fn vp9() -> Vec<Vec<u8>> {
    vec![
        vec![
            0xaa, 0x81, 2, 0x10, 7, 0x38, 1, 0x40, 0, 0xb4, 2, 0x80, 1, 0x68, 2, 0x04, 1, 0x20, 0xff,
        ],
        vec![0xfc, 0x05, 0x53, 0x03, 0x04, 0xff],
    ]
}

/// H.264 payloads: a single unit, an aggregate, and a fragment.
pub fn h264() -> Vec<Vec<u8>> {
    vec![
        vec![0x67, 0x42, 0xe0],
        vec![0x78, 0, 2, 0x09, 0x10, 0, 2, 0x67, 0x42],
        vec![0x7c, 0x85, 0x88],
    ]
}

/// H.265 payloads: a single unit, an aggregate, and a fragment.
pub fn h265() -> Vec<Vec<u8>> {
    vec![
        vec![0x40, 1, 0],
        vec![0x60, 1, 0, 3, 0x42, 1, 0, 0, 2, 0x02, 1],
        vec![0x62, 1, 0x94, 0],
    ]
}

/// AV1 payloads: the first packet of a sequence, and a continuation.
pub fn av1() -> Vec<Vec<u8>> {
    vec![vec![0x18, 0x0a, 0x0b], vec![0x90, 0x32]]
}

/// Pairs of dependency descriptors, the first with its length before it: one that names a template,
/// and one that differs from its template, after a structure with chains and one without; then one
/// with all fields, twice.
pub fn dependency() -> Vec<Vec<u8>> {
    let l1t3 = [
        0x80, 0x00, 0x01, 0x80, 0x02, 0x14, 0xea, 0xa8, 0x60, 0x41, 0x4d, 0x14, 0x10, 0x20, 0x84, 0x27, 0x01, 0x3f,
        0x00, 0xb3,
    ];
    let l1t2_without_chains = [
        0xc0, 0x00, 0x01, 0x80, 0x01, 0x04, 0xea, 0xac, 0x85, 0x14, 0x50, 0x46, 0x04, 0x04, 0xfc, 0x02, 0xcc,
    ];
    let pair = |first: &[u8], second: &[u8]| [&[first.len() as u8], first, second].concat();
    vec![
        pair(&l1t3, &[0x84, 0x00, 0x04]),
        pair(&l1t2_without_chains, &[0xc4, 0x00, 0x07, 0x12, 0x68, 0x80]),
        pair(&l1t3, &[0x83, 0x13, 0x88, 0x7e, 0x2d, 0x34, 0x21, 0x3f, 0xff, 0x32]),
        pair(&l1t3, &l1t2_without_chains),
    ]
}

/// Redundant audio: one frame twice, one alone, and two before an empty one.
pub fn red() -> Vec<Vec<u8>> {
    vec![
        vec![0xef, 0x0f, 0x00, 0x03, 0x6f, 1, 2, 3, 4, 5],
        vec![0x6f, 1, 2],
        vec![0xef, 0x1e, 0x00, 0x01, 0xef, 0x0f, 0x00, 0x02, 0x6f, 1, 2, 3],
    ]
}

/// A binding request with the attributes of a connectivity check.
pub fn stun() -> Vec<Vec<u8>> {
    let mut request = vec![0x00, 0x01, 0x00, 0x38, 0x21, 0x12, 0xa4, 0x42];
    request.extend([7; 12]);
    request.extend([0x00, 0x06, 0x00, 0x09]);
    request.extend(b"evtj:h6vY\0\0\0");
    request.extend([0x00, 0x24, 0x00, 0x04, 0x6e, 0x00, 0x01, 0xff]);
    request.extend([0x80, 0x29, 0x00, 0x08, 1, 2, 3, 4, 5, 6, 7, 8]);
    request.extend([0x00, 0x08, 0x00, 0x14]);
    request.extend([0xaa; 16]);
    // The length counts all bytes after the 20 of the header.
    let len = (request.len() - 20) as u16;
    request[2..4].copy_from_slice(&len.to_be_bytes());
    vec![request]
}

/// One datagram of each protocol.
pub fn datagrams() -> Vec<Vec<u8>> {
    let mut seeds = vec![vec![22, 0xfe, 0xfd, 0], vec![0x40, 0x00, 0, 0]];
    seeds.extend(rtp());
    seeds.extend(rtcp());
    seeds.extend(stun());
    seeds
}

/// SCTP packets: INIT, acknowledgements, messages in pieces, and the end of an association.
pub fn sctp() -> Vec<Vec<u8>> {
    let packet = |chunks: &[(u8, u8, usize)]| {
        let mut packet = vec![0x13, 0x88, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0];
        for (kind, flags, len) in chunks {
            packet.extend([*kind, *flags]);
            packet.extend((*len as u16).to_be_bytes());
            packet.resize((packet.len() + len - 4).next_multiple_of(4), 0);
        }
        packet
    };
    vec![
        packet(&[(1, 0, 20)]),
        packet(&[(3, 0, 16), (0, 3, 17)]),
        packet(&[(0, 2, 1_000), (0, 1, 19), (3, 0, 24)]),
        packet(&[(6, 0, 4)]),
        packet(&[(7, 0, 8), (192, 0, 8)]),
    ]
}

/// DTLS datagrams of one record and of several.
pub fn dtls() -> Vec<Vec<u8>> {
    let record = |kind: u8, len: usize| {
        let mut record = vec![kind, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1];
        record.extend((len as u16).to_be_bytes());
        record.resize(13 + len, kind);
        record
    };
    vec![
        record(22, 200),
        [record(22, 60), record(20, 1), record(22, 40)].concat(),
        record(23, 1_200),
        record(21, 2),
    ]
}

/// The messages that open data channels.
pub fn dcep() -> Vec<Vec<u8>> {
    let open = |kind: u8, label: &[u8], protocol: &[u8]| {
        let mut message = vec![3, kind, 0, 0, 0, 0, 0, 1];
        message.extend((label.len() as u16).to_be_bytes());
        message.extend((protocol.len() as u16).to_be_bytes());
        message.extend([label, protocol].concat());
        message
    };
    vec![
        vec![2],
        open(0, b"_reliable", b""),
        open(0x81, b"_lossy", b"p"),
        open(2, &[b'x'; 2000], b""),
    ]
}
