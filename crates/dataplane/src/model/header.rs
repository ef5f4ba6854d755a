//! The bytes of a replica.

use std::collections::VecDeque;
use std::time::Instant;

use wire::codec::vp8::Vp8Descriptor;
use wire::extension::AbsSendTime;
use wire::{
    Codec, ExtensionKind, ExtensionWriter, NtpTime, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc,
};

use super::LegState;
use super::replica::{ReplicaState, Vp8Ids};
use super::stream::MediaPacket;
use crate::{Departure, Event, LegId};

/// What is written into a packet only because of when it leaves.
#[derive(Clone, Copy)]
pub(super) struct Stamps {
    send_time: AbsSendTime,
    transport_sequence: u16,
}

impl Stamps {
    /// The stamps of the next packet on `leg`; taken only when it is [`sent`](Self::sent).
    pub fn next(leg: &LegState, now: NtpTime) -> Self {
        Stamps {
            send_time: AbsSendTime::from_ntp(now),
            transport_sequence: leg.transport_sequence,
        }
    }

    pub fn sent(self, leg: &mut LegState, at: Instant, size: usize, id: LegId, events: &mut VecDeque<Event>) {
        if leg.entry.extensions_out.id(ExtensionKind::TransportSequence).is_none() {
            return;
        }
        leg.transport_sequence = self.transport_sequence.wrapping_add(1);
        let departure = Departure {
            at,
            transport_sequence: self.transport_sequence,
            size: size as u16,
        };
        events.push_back(Event::Departures {
            leg: id,
            departures: vec![departure],
        });
    }
}

/// A media packet as the replica's receiver gets it.
pub(super) fn media(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    number: u64,
    payload_type: PayloadType,
    stamps: Stamps,
) -> Vec<u8> {
    write(
        replica,
        leg,
        packet,
        (replica.entry.ssrc, number as u16, payload_type),
        &[],
        stamps,
    )
}

/// The same packet as a retransmission (RFC 4588 section 4).
pub(super) fn retransmission(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    number: u64,
    (ssrc, sequence, payload_type): (Ssrc, u16, PayloadType),
    stamps: Stamps,
) -> Vec<u8> {
    let original = (number as u16).to_be_bytes();
    write(replica, leg, packet, (ssrc, sequence, payload_type), &original, stamps)
}

fn write(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    (ssrc, sequence, payload_type): (Ssrc, u16, PayloadType),
    prefix: &[u8],
    stamps: Stamps,
) -> Vec<u8> {
    let segment = replica.segment.as_ref().expect("a sent packet has a segment");
    let header = RtpHeader {
        has_padding: false,
        marker: packet.marker,
        payload_type,
        sequence: SequenceNumber(sequence),
        timestamp: RtpTimestamp(packet.timestamp.0.wrapping_add(segment.timestamp_offset)),
        ssrc,
        csrcs: wire::Csrcs::NONE,
    };
    let values = extension_values(replica, leg, packet, stamps);
    let elements: Vec<(u8, &[u8])> = values.iter().map(|(id, value)| (*id, value.as_slice())).collect();
    let extensions = ExtensionWriter::new(&elements).expect("ids and lengths come from valid packets");
    let mut bytes = vec![0; header.encoded_len(&extensions)];
    header
        .write(&extensions, &mut bytes)
        .expect("the buffer has the header's length");
    bytes.extend_from_slice(prefix);
    let payload_at = bytes.len();
    bytes.extend_from_slice(&packet.payload);
    if packet.codec == Codec::Vp8 {
        add_vp8_ids(&mut bytes[payload_at..], segment.vp8_offset);
    }
    bytes
}

/// The extensions the leg carries: what came with the packet in the order of the kinds, then our own.
fn extension_values(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    stamps: Stamps,
) -> Vec<(u8, Vec<u8>)> {
    let map = &leg.entry.extensions_out;
    let carried = packet
        .extensions
        .iter()
        .filter_map(|(kind, value)| Some((map.id(*kind)?, value.clone())));
    let mid = replica
        .entry
        .mid
        .map(|mid| (ExtensionKind::Mid, mid.as_bytes().to_vec()));
    let own = [
        mid,
        Some((ExtensionKind::AbsSendTime, stamps.send_time.to_bytes().to_vec())),
        Some((
            ExtensionKind::TransportSequence,
            stamps.transport_sequence.to_be_bytes().to_vec(),
        )),
    ];
    let own = own
        .into_iter()
        .flatten()
        .filter_map(|(kind, value)| Some((map.id(kind)?, value)));
    carried.chain(own).collect()
}

/// The running counters in a VP8 payload; those it does not carry are zero.
pub(super) fn vp8_ids(payload: &[u8]) -> Vp8Ids {
    let Ok(descriptor) = Vp8Descriptor::parse(payload) else {
        return Vp8Ids::default();
    };
    Vp8Ids {
        picture: descriptor.picture_id.map_or(0, |id| id.value()),
        tl0: descriptor.tl0_pic_idx.unwrap_or(0),
    }
}

/// Moves the counters on by `offset`, each within its own width.
fn add_vp8_ids(payload: &mut [u8], offset: Vp8Ids) {
    let ids = vp8_ids(payload).plus(offset);
    if let Ok(mut descriptor) = Vp8Descriptor::parse(payload) {
        descriptor.rewrite_picture_id(payload, ids.picture);
        descriptor.rewrite_tl0_pic_idx(payload, ids.tl0);
    }
}
