//! The bytes of a replica.

use std::collections::VecDeque;
use std::time::Instant;

use wire::codec::dependency::DESCRIPTOR_LEN_MAX;
use wire::codec::vp8::Vp8Descriptor;
use wire::extension::{AbsSendTime, PlayoutDelay};
use wire::{
    Codec, ExtensionKind, ExtensionWriter, NtpTime, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc,
};

use super::LegState;
use super::frame::Rules;
use super::replica::{Fill, ReplicaState, Vp8Ids};
use super::select::{Active, Decision};
use super::stream::MediaPacket;
use crate::{Departure, Event, LegId};

/// The header fields that depend on the time a packet is sent.
#[derive(Clone, Copy)]
pub(super) struct Stamps {
    send_time: AbsSendTime,
    transport_sequence: u16,
}

impl Stamps {
    /// The stamps of the next packet on `leg`; taken only when it is [`sent`](Self::sent).
    pub(crate) fn next(leg: &LegState, now: NtpTime) -> Self {
        Stamps {
            send_time: AbsSendTime::from_ntp(now),
            transport_sequence: leg.transport_sequence,
        }
    }

    pub(crate) fn sent(
        self,
        leg: &mut LegState,
        at: Instant,
        size: usize,
        id: LegId,
        probe: Option<u32>,
        events: &mut VecDeque<Event>,
    ) {
        if leg.entry.extensions_out.id(ExtensionKind::TransportSequence).is_none() {
            return;
        }
        leg.transport_sequence = self.transport_sequence.wrapping_add(1);
        let departure = Departure {
            at,
            transport_sequence: self.transport_sequence,
            size: size as u16,
            probe,
        };
        events.push_back(Event::Departures {
            leg: id,
            departures: vec![departure],
        });
    }
}

/// A media packet in the form for the replica's receiver.
pub(super) fn media(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    decision: Decision,
    number: u64,
    payload_type: PayloadType,
    stamps: Stamps,
) -> Vec<u8> {
    let name = (replica.entry.ssrc, number as u16, payload_type);
    write(replica, leg, packet, decision, name, &[], stamps)
}

/// The same packet as a retransmission (RFC 4588 section 4).
pub(super) fn retransmission(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    decision: Decision,
    number: u64,
    name: (Ssrc, u16, PayloadType),
    stamps: Stamps,
) -> Vec<u8> {
    let original = (number as u16).to_be_bytes();
    write(replica, leg, packet, decision, name, &original, stamps)
}

/// A packet that is all padding, on the retransmission SSRC: of all there is to send, what a
/// receiver surely ignores.
pub(super) fn padding(replica: &ReplicaState, leg: &LegState, stamps: Stamps) -> Vec<u8> {
    let (ssrc, _) = replica.entry.rtx.expect("the caller chose one with retransmissions");
    let header = RtpHeader {
        has_padding: true,
        marker: false,
        payload_type: replica.padding_type().expect("likewise"),
        sequence: SequenceNumber(replica.rtx_next),
        timestamp: RtpTimestamp(replica.last_timestamp()),
        ssrc,
        csrcs: wire::Csrcs::NONE,
    };
    let mut bytes = write_header(&header, &own_values(replica, leg, None, stamps));
    bytes.extend_from_slice(&[0; 254]);
    bytes.push(255);
    bytes
}

/// A packet in place of media: a payload the agent made, or padding.
pub(super) fn filling(
    replica: &ReplicaState,
    leg: &LegState,
    fill: Fill<'_>,
    sequence: u16,
    timestamp: u32,
    stamps: Stamps,
) -> Vec<u8> {
    let header = RtpHeader {
        has_padding: fill.payload.is_empty(),
        marker: false,
        payload_type: fill.payload_type,
        sequence: SequenceNumber(sequence),
        timestamp: RtpTimestamp(timestamp),
        ssrc: replica.entry.ssrc,
        csrcs: wire::Csrcs::NONE,
    };
    let mut bytes = write_header(&header, &own_values(replica, leg, None, stamps));
    match fill.payload {
        [] => bytes.extend_from_slice(&[0, 0, 0, 4]),
        payload => bytes.extend_from_slice(payload),
    }
    bytes
}

fn write(
    replica: &ReplicaState,
    leg: &LegState,
    packet: &MediaPacket,
    decision: Decision,
    (ssrc, sequence, payload_type): (Ssrc, u16, PayloadType),
    prefix: &[u8],
    stamps: Stamps,
) -> Vec<u8> {
    let segment = replica.segment.as_ref().expect("a sent packet has a segment");
    let ends_picture = decision.is_top && packet.frame.as_ref().is_some_and(|frame| frame.ends);
    let header = RtpHeader {
        has_padding: false,
        marker: packet.marker || ends_picture,
        payload_type,
        sequence: SequenceNumber(sequence),
        timestamp: RtpTimestamp(packet.timestamp.0.wrapping_add(segment.timestamp_offset)),
        ssrc,
        csrcs: wire::Csrcs::NONE,
    };
    let delay = replica.entry.playout_delay;
    let delay = delay.map(|delay| delay.with_publishers(packet.playout_delay));
    let mut values = carried_values(leg, packet, decision, segment.frame_offset, delay.is_none());
    values.extend(own_values(replica, leg, delay, stamps));
    let mut bytes = write_header(&header, &values);
    bytes.extend_from_slice(prefix);
    let payload_at = bytes.len();
    bytes.extend_from_slice(replica.payload(packet).unwrap_or_default());
    if packet.codec == Codec::Vp8 {
        add_vp8_ids(
            &mut bytes[payload_at..],
            segment.vp8_offset.minus_pictures(decision.held_back),
        );
    }
    bytes
}

fn write_header(header: &RtpHeader<'_>, values: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let elements: Vec<(u8, &[u8])> = values.iter().map(|(id, value)| (*id, value.as_slice())).collect();
    let extensions = ExtensionWriter::new(&elements).expect("ids and lengths come from valid packets");
    let mut bytes = vec![0; header.encoded_len(&extensions)];
    header
        .write(&extensions, &mut bytes)
        .expect("the buffer has the header's length");
    bytes
}

/// The received extensions that the leg forwards, in the order of the kinds.
fn carried_values(
    leg: &LegState,
    packet: &MediaPacket,
    decision: Decision,
    frame_offset: u16,
    with_playout_delay: bool,
) -> Vec<(u8, Vec<u8>)> {
    let map = &leg.entry.extensions_out;
    let value = |kind: ExtensionKind, value: &Vec<u8>| match kind {
        ExtensionKind::DependencyDescriptor => dependency(value, packet, decision, frame_offset),
        _ => value.clone(),
    };
    let carried = packet.extensions.iter();
    carried
        .filter(|(kind, _)| with_playout_delay || *kind != ExtensionKind::PlayoutDelay)
        .filter_map(|(kind, carried)| Some((map.id(*kind)?, value(*kind, carried))))
        .collect()
}

/// The extensions of our own that the leg carries.
fn own_values(
    replica: &ReplicaState,
    leg: &LegState,
    playout_delay: Option<PlayoutDelay>,
    stamps: Stamps,
) -> Vec<(u8, Vec<u8>)> {
    let map = &leg.entry.extensions_out;
    let mid = replica
        .entry
        .mid
        .map(|mid| (ExtensionKind::Mid, mid.as_bytes().to_vec()));
    let delay = playout_delay.map(|delay| (ExtensionKind::PlayoutDelay, delay.to_bytes().to_vec()));
    let own = [
        mid,
        delay,
        Some((ExtensionKind::AbsSendTime, stamps.send_time.to_bytes().to_vec())),
        Some((
            ExtensionKind::TransportSequence,
            stamps.transport_sequence.to_be_bytes().to_vec(),
        )),
    ];
    own.into_iter()
        .flatten()
        .filter_map(|(kind, value)| Some((map.id(kind)?, value)))
        .collect()
}

/// The dependency descriptor for one receiver. Frame numbers continue across a change of the
/// source. The first packet of a frame states the active decode targets if the sender's do not
/// apply to this receiver. A frame refers to the fallback frame beside it.
fn dependency(value: &[u8], packet: &MediaPacket, decision: Decision, frame_offset: u16) -> Vec<u8> {
    let mut bytes = changed(packet, decision).unwrap_or_else(|| value.to_vec());
    if let Some(number) = bytes.get_mut(1..3) {
        let moved = u16::from_be_bytes([number[0], number[1]]).wrapping_add(frame_offset);
        number.copy_from_slice(&moved.to_be_bytes());
    }
    bytes
}

/// The descriptor with other active decode targets and references, if it needs them.
fn changed(packet: &MediaPacket, decision: Decision) -> Option<Vec<u8>> {
    let frame = packet.frame.as_ref()?;
    let Rules::Dependency(rules) = &frame.rules else {
        return None;
    };
    let mut descriptor = rules.descriptor.clone();
    let says = descriptor.active_targets_from_here().is_some();
    let Active { targets, fewer, new } = decision.active;
    let tells = frame.starts && if says { fewer } else { new };
    if !tells && decision.kept_before.is_none() {
        return None;
    }
    if tells {
        descriptor.active_targets = Some(targets);
    }
    if let Some(back) = decision.kept_before {
        descriptor.fdiffs = Some(rules.fdiffs.with(back)?);
    }
    let mut bytes = vec![0; DESCRIPTOR_LEN_MAX];
    let len = descriptor.write(Some(&rules.structure), &mut bytes).ok()?;
    bytes.truncate(len);
    Some(bytes)
}

/// Moves the counters on by `offset`, each within its own width.
fn add_vp8_ids(payload: &mut [u8], offset: Vp8Ids) {
    let ids = Vp8Ids::read(payload).plus(offset);
    if let Ok(mut descriptor) = Vp8Descriptor::parse(payload) {
        descriptor.rewrite_picture_id(payload, ids.picture);
        descriptor.rewrite_tl0_pic_idx(payload, ids.tl0);
    }
}
