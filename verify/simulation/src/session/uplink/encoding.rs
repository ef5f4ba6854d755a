//! One encoding of a source: its packets, its numbers and the packets that are kept for
//! retransmission.

use std::collections::VecDeque;
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use wire::extension::AudioLevel;
use wire::rtcp::{RtcpWriter, SenderInfo};
use wire::{
    Codec, Csrcs, ExtensionKind, ExtensionWriter, MediaKind, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc,
};

use super::{Agreed, Through};
use crate::stamp::Stamp;

/// Sent packets kept for retransmission, of each encoding.
const SENT_MAX: usize = 64;

pub(super) struct Encoding {
    pub(super) ssrc: Ssrc,
    pub(super) repair: Ssrc,
    number: u64,
    repair_number: u16,
    frame: u32,
    first_picture: u16,
    first_timestamp: u32,
    pub(super) key_frame_wanted: bool,
    /// The node has reported on it, so it knows its encoding.
    pub(super) known: bool,
    pub(super) packets: u32,
    /// Number, the payload type that repairs it, and the packet.
    sent: VecDeque<(u16, Option<PayloadType>, Vec<u8>)>,
}

impl Encoding {
    pub(super) fn new(rng: &mut StdRng) -> Self {
        Self {
            ssrc: Ssrc(rng.random_range(1..u32::MAX)),
            repair: Ssrc(rng.random_range(1..u32::MAX)),
            // Near the end of the circle as often as not: numbers must survive it.
            number: (1 << 16)
                + if rng.random() {
                    rng.random_range(65_400..65_536)
                } else {
                    rng.random_range(0..65_536)
                },
            repair_number: rng.random(),
            frame: 0,
            first_picture: rng.random(),
            first_timestamp: if rng.random() {
                u32::MAX - rng.random_range(0..900_000)
            } else {
                rng.random()
            },
            key_frame_wanted: true,
            known: false,
            packets: 0,
            sent: VecDeque::new(),
        }
    }

    pub(super) fn send_frame(
        &mut self,
        through: &mut Through<'_>,
        agreed: &Agreed,
        name: (u32, u8),
        rid: Option<&str>,
        elapsed: Duration,
    ) {
        let is_video = agreed.codec.kind() == MediaKind::Video;
        let key = is_video && std::mem::take(&mut self.key_frame_wanted);
        let packets = if is_video {
            1 + u32::from(key) + u32::from(through.rng.random_bool(0.3))
        } else {
            1
        };
        let timestamp = self.timestamp(agreed.codec, elapsed);
        for position in 0..packets {
            let starts_key_frame = key && position == 0;
            let stamp = Stamp {
                source: name.0,
                encoding: name.1,
                codec: agreed.codec,
                starts_key_frame,
                frame: self.frame,
                number: self.number,
                timestamp,
            };
            let mut payload = self.descriptor(agreed.codec, key, position == 0);
            payload.resize(payload.len() + through.rng.random_range(0..40), 0xa5);
            stamp.write(&mut payload);
            self.send(through, agreed, rid, (timestamp, position + 1 == packets), &payload, 0);
        }
        // At times a probe, which takes a number and has no media.
        if is_video && through.rng.random_bool(0.05) {
            through.probes.push((name.0, name.1, self.number));
            self.send(through, agreed, rid, (timestamp, false), &[], 20);
        }
        self.frame += 1;
    }

    /// The descriptor of a frame: enough for a switch to recognise key frames and to renumber
    /// pictures.
    fn descriptor(&self, codec: Codec, key: bool, first: bool) -> Vec<u8> {
        match codec {
            Codec::Vp8 => {
                let picture = self.first_picture.wrapping_add(self.frame as u16) | 0x8000;
                let [high, low] = picture.to_be_bytes();
                // Extended, with a 15-bit picture id, a temporal counter and a layer; then the
                // frame's own first byte.
                vec![
                    0x80 | u8::from(first) << 4,
                    0xe0,
                    high,
                    low,
                    self.frame as u8,
                    0,
                    u8::from(!key),
                ]
            }
            // Fragments of an IDR slice or of another one; the first is marked as such.
            Codec::H264 => vec![0x7c, u8::from(first) << 7 | if key { 5 } else { 1 }],
            _ => Vec::new(),
        }
    }

    fn timestamp(&self, codec: Codec, elapsed: Duration) -> u32 {
        let ticks = elapsed.as_micros() * u128::from(codec.clock_rate()) / 1_000_000;
        self.first_timestamp.wrapping_add(ticks as u32)
    }

    fn send(
        &mut self,
        through: &mut Through<'_>,
        agreed: &Agreed,
        rid: Option<&str>,
        (timestamp, marker): (u32, bool),
        payload: &[u8],
        padding: u8,
    ) {
        let header = RtpHeader {
            has_padding: padding > 0,
            marker,
            payload_type: agreed.payload_type,
            sequence: SequenceNumber(self.number as u16),
            timestamp: RtpTimestamp(timestamp),
            ssrc: self.ssrc,
            csrcs: Csrcs::NONE,
        };
        let names = if self.known {
            Vec::new()
        } else {
            names(agreed, rid, ExtensionKind::Rid)
        };
        let mut payload = payload.to_vec();
        if padding > 0 {
            payload.resize(usize::from(padding), 0);
            wire::fill_padding(&mut payload);
        }
        let bytes = packet(through, agreed, header, names, &payload);
        self.sent
            .push_back((self.number as u16, agreed.repair_type, bytes.clone()));
        if self.sent.len() > SENT_MAX {
            self.sent.pop_front();
        }
        self.number += 1;
        self.packets += 1;
        through.out.push(bytes);
    }

    pub(super) fn resend(&mut self, through: &mut Through<'_>, agreed: &Agreed, rid: Option<&str>, sequence: u16) {
        let Some((_, repair_type, bytes)) = self.sent.iter().find(|(known, ..)| *known == sequence) else {
            return;
        };
        let Some(repair_type) = *repair_type else {
            // Audio has no stream for retransmissions: the packet goes again as it was.
            through.out.push(bytes.clone());
            return;
        };
        let original = wire::RtpPacket::parse(bytes).expect("it was sent before");
        let payload = [&sequence.to_be_bytes()[..], original.payload()].concat();
        let header = RtpHeader {
            has_padding: false,
            payload_type: repair_type,
            sequence: SequenceNumber(self.repair_number),
            ssrc: self.repair,
            ..original.header()
        };
        let bytes = packet(
            through,
            agreed,
            header,
            names(agreed, rid, ExtensionKind::RepairedRid),
            &payload,
        );
        self.repair_number = self.repair_number.wrapping_add(1);
        through.out.push(bytes);
    }

    pub(super) fn report(&self, through: &mut Through<'_>, codec: Codec, elapsed: Duration) {
        let info = SenderInfo {
            ntp: through.clock.ntp(through.now),
            rtp: RtpTimestamp(self.timestamp(codec, elapsed)),
            packets: self.packets,
            octets: self.packets * 40,
        };
        let mut compound = Vec::new();
        RtcpWriter::sender_report(&mut compound, self.ssrc, "simulated", &info, &[]);
        through.out.push(compound);
    }
}

/// Extensions that identify an encoding that the node does not know yet.
fn names(agreed: &Agreed, rid: Option<&str>, rid_kind: ExtensionKind) -> Vec<(u8, Vec<u8>)> {
    let mid = Some((ExtensionKind::Mid, agreed.mid.as_bytes()));
    let rid = rid.map(|rid| (rid_kind, rid.as_bytes()));
    let names = [mid, rid].into_iter().flatten();
    names
        .filter_map(|(kind, value)| Some((agreed.extensions.id(kind)?, value.to_vec())))
        .collect()
}

fn packet(
    through: &mut Through<'_>,
    agreed: &Agreed,
    header: RtpHeader<'_>,
    mut elements: Vec<(u8, Vec<u8>)>,
    payload: &[u8],
) -> Vec<u8> {
    if let Some(id) = agreed.extensions.id(ExtensionKind::TransportSequence) {
        elements.push((id, through.transport_sequence.to_be_bytes().to_vec()));
        *through.transport_sequence = through.transport_sequence.wrapping_add(1);
    }
    if let (MediaKind::Audio, Some(id)) = (agreed.codec.kind(), agreed.extensions.id(ExtensionKind::AudioLevel)) {
        let level = AudioLevel {
            voice: true,
            level: through.rng.random_range(10..90),
        };
        elements.push((id, level.to_bytes().to_vec()));
    }
    let elements: Vec<(u8, &[u8])> = elements.iter().map(|(id, value)| (*id, value.as_slice())).collect();
    let extensions = ExtensionWriter::new(&elements).expect("negotiated ids and short values");
    let mut bytes = vec![0; header.encoded_len(&extensions)];
    header
        .write(&extensions, &mut bytes)
        .expect("the buffer has the header's length");
    bytes.extend_from_slice(payload);
    bytes
}
