//! Packets of peers, and their negotiated formats.

use southbound::{Command, PayloadFormat, SubscriptionSettings, TrackId};
use wire::rtcp::RtcpWriter;
use wire::{Codec, ExtensionKind, ExtensionMap, NtpTime, PayloadType, RtpTimestamp, Ssrc};

pub(super) const VP8: u8 = 96;
pub(super) const VP8_RTX: u8 = 97;
pub(super) const VP9: u8 = 98;
pub(super) const VP9_RTX: u8 = 99;
pub(super) const OPUS: u8 = 111;

pub(super) const BEST: SubscriptionSettings = SubscriptionSettings {
    enabled: true,
    encoding_max: 9,
    ..SubscriptionSettings::BEST
};

pub(super) fn set_forwarding(track: TrackId, forwarding: bool) -> Command {
    Command::SetForwarding { track, forwarding }
}

pub(super) fn vp8() -> PayloadFormat {
    PayloadFormat {
        payload_type: payload_type(VP8),
        codec: Codec::Vp8,
        rtx: Some(payload_type(VP8_RTX)),
        nack: true,
    }
}

pub(super) fn vp9() -> PayloadFormat {
    PayloadFormat {
        payload_type: payload_type(VP9),
        codec: Codec::Vp9,
        rtx: Some(payload_type(VP9_RTX)),
        nack: true,
    }
}

pub(super) fn payload_type(value: u8) -> PayloadType {
    PayloadType::new(value).unwrap()
}

/// The header-extension ids everybody uses.
pub(super) fn extensions() -> ExtensionMap {
    let mut map = ExtensionMap::default();
    for (kind, id) in [
        (ExtensionKind::Mid, 1),
        (ExtensionKind::Rid, 2),
        (ExtensionKind::RepairedRid, 3),
        (ExtensionKind::TransportSequence, 4),
        (ExtensionKind::AudioLevel, 5),
    ] {
        map.insert(kind, id).unwrap();
    }
    map
}

/// One RTP packet as a publisher sends it.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a> {
    pub(super) ssrc: u32,
    pub(super) payload_type: u8,
    pub(super) sequence: u16,
    pub(super) timestamp: u32,
    pub(super) mid: &'a str,
    pub(super) rid: &'a str,
    pub(super) repaired_rid: &'a str,
    pub(super) transport_sequence: Option<u16>,
    pub(super) level: Option<u8>,
    pub(super) payload: &'a [u8],
}

/// A VP8 payload that starts a key frame, and one that starts another frame.
pub(super) const KEY: &[u8] = &[0x10, 0x00, 0x00, 0x00];
pub(super) const DELTA: &[u8] = &[0x10, 0x01, 0x00, 0x00];

pub(super) fn video(ssrc: u32, sequence: u16, payload: &[u8]) -> Packet<'_> {
    Packet {
        ssrc,
        payload_type: VP8,
        sequence,
        timestamp: u32::from(sequence) * 3_000,
        mid: "0",
        rid: "",
        repaired_rid: "",
        transport_sequence: None,
        level: None,
        payload,
    }
}

pub(super) fn audio(sequence: u16, level: u8) -> Packet<'static> {
    Packet {
        ssrc: 900,
        payload_type: OPUS,
        sequence,
        timestamp: u32::from(sequence) * 960,
        mid: "1",
        level: Some(level),
        ..video(900, sequence, &[1, 2, 3])
    }
}

impl Packet<'_> {
    pub(super) fn bytes(self) -> Vec<u8> {
        let mut elements: Vec<(u8, Vec<u8>)> = Vec::new();
        let texts = [(1, self.mid), (2, self.rid), (3, self.repaired_rid)];
        elements.extend(
            texts
                .iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(id, text)| (*id, text.as_bytes().into())),
        );
        elements.extend(self.transport_sequence.map(|number| (4, number.to_be_bytes().to_vec())));
        elements.extend(self.level.map(|level| (5, vec![0x80 | level])));
        let mut body: Vec<u8> = Vec::new();
        for (id, value) in elements {
            body.push(id << 4 | (value.len() as u8 - 1));
            body.extend(value);
        }
        body.resize(body.len().next_multiple_of(4), 0);
        let mut packet = vec![0x90, self.payload_type];
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.timestamp.to_be_bytes());
        packet.extend(self.ssrc.to_be_bytes());
        packet.extend([0xbe, 0xde]);
        packet.extend((body.len() as u16 / 4).to_be_bytes());
        packet.extend(body);
        packet.extend(self.payload);
        packet
    }
}

/// A sender report as a publisher writes it, `seconds` into its life.
pub(super) fn sender_report(ssrc: u32, ntp: NtpTime, rtp: u32) -> Vec<u8> {
    let mut compound = Vec::new();
    let info = wire::rtcp::SenderInfo {
        ntp,
        rtp: RtpTimestamp(rtp),
        packets: 1,
        octets: 1,
    };
    RtcpWriter::sender_report(&mut compound, Ssrc(ssrc), "peer", &info, &[]);
    compound
}
