//! Writing a packet for one receiver, straight into its egress run.

use std::time::Instant;

use dataplane::limits::DATAGRAM_MAX;
use dataplane::{Clock, Counter, Path};
use wire::extension::AbsSendTime;
use wire::{ExtensionKind, ExtensionWriter, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc};

use super::egress::Egress;
use super::leg::LegState;
use super::packet::Packet;
use super::replica::ReplicaState;
use super::segment::{Segment, Vp8Ids};
use crate::srtp::{Bytes, Refused, rtp_overhead};

/// Room for every kind of header extension.
const ELEMENTS_MAX: usize = ExtensionKind::ALL.len();

/// What a packet is called on its way out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) ssrc: Ssrc,
    pub(crate) payload_type: PayloadType,
    /// SRTP index, whose low 16 bits are the sequence number.
    pub(crate) index: u64,
    /// In a retransmission, the number the packet had at first (RFC 4588 section 4).
    pub(crate) original: Option<SequenceNumber>,
}

/// The time of a batch, in the forms packets need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    send_time: [u8; 3],
}

impl Moment {
    pub(crate) fn new(at: Instant, clock: &Clock) -> Self {
        Moment {
            at,
            send_time: AbsSendTime::from_ntp(clock.ntp(at)).to_bytes(),
        }
    }
}

/// Writes `packet` as `replica` sends it: header, payload, VP8 ids, protection. Nothing is written when it cannot be sent.
pub(crate) fn append(
    egress: &mut Egress,
    leg: &mut LegState,
    path: Path,
    replica: &ReplicaState,
    packet: &Packet,
    name: Name,
    moment: &Moment,
) -> Result<(), Counter> {
    let segment = replica.segment.as_ref().expect("a replica that sends has a segment");
    let header = header(packet, segment, name);
    let number = leg.transport_sequence.to_be_bytes();
    let mut elements: [(u8, &[u8]); ELEMENTS_MAX] = [(0, &[]); ELEMENTS_MAX];
    let count = list_elements(&mut elements, leg, replica, packet, &moment.send_time, &number);
    let extensions = ExtensionWriter::new(&elements[..count]).expect("ids and lengths are those of valid packets");
    let header_len = header.encoded_len(&extensions);
    let prefix = name.original.map(|original| original.0.to_be_bytes());
    let prefix = prefix.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    if header_len + prefix.len() + packet.payload().len() > DATAGRAM_MAX {
        return Err(Counter::ReplicaOversized);
    }
    claim(leg, name)?;

    let mut run = leg.run;
    let buffer = egress.buffer(leg.id, &mut run);
    leg.run = run;
    let start = buffer.bytes.len();
    buffer.bytes.resize(start + header_len, 0);
    header
        .write(&extensions, &mut buffer.bytes[start..])
        .expect("the room was measured");
    buffer.bytes.extend_from_slice(prefix);
    let payload_at = buffer.bytes.len();
    buffer.bytes.extend_from_slice(packet.payload());
    rewrite_vp8(&mut buffer.bytes[payload_at..], packet, segment);
    protect(leg, &mut buffer.bytes, start, header_len, name);
    buffer.cut(path, start);
    if leg.entry.extensions_out.id(ExtensionKind::TransportSequence).is_some() {
        buffer.departed(moment.at, leg.transport_sequence, buffer.bytes.len() - start);
        leg.transport_sequence = leg.transport_sequence.wrapping_add(1);
    }
    Ok(())
}

fn header(packet: &Packet, segment: &Segment, name: Name) -> RtpHeader<'static> {
    let facts = packet.facts();
    RtpHeader {
        has_padding: false,
        marker: facts.marker,
        payload_type: name.payload_type,
        sequence: SequenceNumber(name.index as u16),
        timestamp: RtpTimestamp(facts.timestamp.0.wrapping_add(segment.timestamp_offset)),
        ssrc: name.ssrc,
        csrcs: wire::Csrcs::NONE,
    }
}

/// Seals the packet that `bytes` ends with, in place, if the leg has keys.
fn protect(leg: &mut LegState, bytes: &mut Vec<u8>, start: usize, header_len: usize, name: Name) {
    let Some(keys) = leg.keys_in_use() else { return };
    let clear_len = bytes.len() - start;
    bytes.resize(bytes.len() + rtp_overhead(keys.egress_profile()), 0);
    let sealed = keys
        .sealer
        .seal_rtp(&mut bytes[start..], clear_len, header_len, name.index);
    bytes.truncate(start + sealed);
}

/// Lists the extensions the leg carries: what came with the packet in the order of the kinds, then our own. Returns how many.
fn list_elements<'a>(
    elements: &mut [(u8, &'a [u8]); ELEMENTS_MAX],
    leg: &LegState,
    replica: &'a ReplicaState,
    packet: &'a Packet,
    send_time: &'a [u8],
    transport_sequence: &'a [u8],
) -> usize {
    let map = &leg.entry.extensions_out;
    let carried = packet.facts().elements.carried(packet.bytes());
    let own = [
        (ExtensionKind::Mid, replica.entry.mid.as_ref().map(|mid| mid.as_bytes())),
        (ExtensionKind::AbsSendTime, Some(send_time)),
        (ExtensionKind::TransportSequence, Some(transport_sequence)),
    ];
    let own = own.into_iter().filter_map(|(kind, value)| Some((kind, value?)));
    let with_ids = carried
        .chain(own)
        .filter_map(|(kind, value)| Some((map.id(kind)?, value)));
    let mut count = 0;
    for (place, element) in elements.iter_mut().zip(with_ids) {
        *place = element;
        count += 1;
    }
    count
}

/// A (key, SSRC, index) protects one packet, ever. Numbers are made so that this holds; this is what makes sure.
fn claim(leg: &mut LegState, name: Name) -> Result<(), Counter> {
    if leg.keys_in_use().is_none() {
        return Ok(());
    }
    let claimed = leg.indexes.claim(name.ssrc.0, name.index, Bytes::New);
    debug_assert!(
        !matches!(claimed, Err(Refused::Used | Refused::TooOld)),
        "{name:?} was numbered twice"
    );
    claimed.map_err(|_| Counter::KeysExhausted)
}

fn rewrite_vp8(payload: &mut [u8], packet: &Packet, segment: &Segment) {
    let Some(mut descriptor) = packet.facts().vp8.filter(|_| segment.vp8_offset != Vp8Ids::default()) else {
        return;
    };
    let ids = vp8_ids(packet).plus(segment.vp8_offset);
    descriptor.rewrite_picture_id(payload, ids.picture);
    descriptor.rewrite_tl0_pic_idx(payload, ids.tl0);
}

/// The running counters in a VP8 payload; those it does not carry are zero, as are those of other codecs.
pub(crate) fn vp8_ids(packet: &Packet) -> Vp8Ids {
    packet.facts().vp8.map_or(Vp8Ids::default(), |descriptor| Vp8Ids {
        picture: descriptor.picture_id.map_or(0, |id| id.value()),
        tl0: descriptor.tl0_pic_idx.unwrap_or(0),
    })
}
