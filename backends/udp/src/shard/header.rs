//! Writing a packet for one receiver into its egress run.

mod layout;

use std::time::Instant;

use dataplane::limits::DATAGRAM_MAX;
use dataplane::{Clock, Counter, Path};
use wire::extension::AbsSendTime;
use wire::{ExtensionKind, ExtensionWriter, Mid, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc};

use super::descriptor::{DescriptorChange, told};
use super::egress::{Buffer, Egress};
use super::leg::LegState;
use super::packet::{Packet, Span};
use super::replica::ReplicaState;
use super::segment::Vp8Ids;
use super::select::Decision;
use crate::srtp::{Bytes, RTP_OVERHEAD_MAX, Refused};
pub(super) use layout::Layouts;

/// Room for every kind of header extension.
const ELEMENTS_MAX: usize = ExtensionKind::ALL.len();

/// The RTP identity of an outgoing packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtpIdentity {
    pub(crate) ssrc: Ssrc,
    pub(crate) payload_type: PayloadType,
    /// SRTP index, whose low 16 bits are the sequence number.
    pub(crate) index: u64,
    /// In a retransmission, the packet's original number (RFC 4588 section 4).
    pub(crate) original: Option<SequenceNumber>,
}

/// The time of a batch, in the forms that packets need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchTime {
    pub(crate) at: Instant,
    send_time: [u8; 3],
}

impl BatchTime {
    pub(crate) fn new(at: Instant, clock: &Clock) -> Self {
        BatchTime {
            at,
            send_time: AbsSendTime::from_ntp(clock.ntp(at)).to_bytes(),
        }
    }
}

/// Bytes of padding in a packet that has nothing else; the last says how many there are (RFC 3550
/// section 5.1).
const PADDING: [u8; 255] = {
    let mut padding = [0; 255];
    padding[254] = 255;
    padding
};
/// More than all that comes before a packet's payload and behind it, nearly always.
const OVERHEAD: usize = 60;

/// How a packet changes on its way to one receiver: all that is decided before it is known when it
/// leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rewrite {
    identity: RtpIdentity,
    marker: bool,
    timestamp: RtpTimestamp,
    mid: Option<Mid>,
    playout_delay: Option<[u8; 3]>,
    /// Which part of the packet is its payload.
    payload: Span,
    /// What is added to VP8's picture id and TL0PICIDX.
    vp8: Vp8Ids,
    descriptor: DescriptorChange,
    /// Bytes of padding behind the payload.
    padding: u8,
}

impl Rewrite {
    /// What `replica` makes of `packet`, whose frame it decided to send or sends on demand, with so
    /// many bytes of padding behind the payload.
    ///
    /// Inlined, or it would be written in small pieces and read back in large ones at once, for
    /// which a processor waits.
    #[inline]
    pub(crate) fn new(
        replica: &ReplicaState,
        packet: &Packet,
        payload: Span,
        identity: RtpIdentity,
        decision: &Decision,
        padding: u8,
    ) -> Self {
        let segment = replica.segment.as_ref().expect("a replica that sends has a segment");
        let (info, offsets) = (packet.info(), &segment.offsets);
        let ends_picture = decision.is_top && info.frame.as_ref().is_some_and(|frame| frame.ends);
        Rewrite {
            identity,
            marker: info.marker || ends_picture,
            timestamp: RtpTimestamp(info.timestamp.0.wrapping_add(offsets.timestamp)),
            mid: replica.entry.mid,
            playout_delay: replica
                .entry
                .playout_delay
                .map(|delay| delay.with_publishers(info.playout_delay).to_bytes()),
            payload,
            vp8: offsets.vp8.minus_pictures(decision.held_back),
            descriptor: DescriptorChange {
                frame_offset: offsets.frame,
                active: info.frame.as_ref().and_then(|frame| told(frame, &decision.active)),
                kept_before: decision.kept_before,
            },
            padding,
        }
    }

    pub(crate) fn is_retransmission(&self) -> bool {
        self.identity.original.is_some()
    }

    /// Gives a retransmission its own number.
    pub(crate) fn number(&mut self, index: u64) {
        self.identity.index = index;
    }

    /// The part of the packet that is sent as its payload.
    pub(crate) fn payload<'a>(&self, packet: &'a Packet) -> &'a [u8] {
        packet.part(self.payload)
    }

    /// How long it will about be.
    pub(crate) fn size(&self, packet: &Packet) -> usize {
        self.payload(packet).len() + OVERHEAD
    }

    fn header(&self) -> RtpHeader<'static> {
        RtpHeader {
            has_padding: false,
            marker: self.marker,
            payload_type: self.identity.payload_type,
            sequence: SequenceNumber(self.identity.index as u16),
            timestamp: self.timestamp,
            ssrc: self.identity.ssrc,
            csrcs: wire::Csrcs::NONE,
        }
    }
}

/// Writes `packet` as a replica sends it: header, payload, VP8 ids, protection. Nothing is written
/// when it cannot be sent.
pub(crate) fn append(
    egress: &mut Egress,
    layouts: &mut Layouts,
    leg: &mut LegState,
    path: Path,
    packet: &Packet,
    rewrite: &Rewrite,
    time: &BatchTime,
) -> Result<(), Counter> {
    let identity = rewrite.identity;
    let layout = layouts.of(leg, packet, rewrite);
    let header_len = layout.len();
    let prefix = identity.original.map(|original| original.0.to_be_bytes());
    let prefix = prefix.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    let payload = rewrite.payload(packet);
    let room = DATAGRAM_MAX
        .checked_sub(header_len + prefix.len() + payload.len())
        .ok_or(Counter::ReplicaOversized)?;
    let padding = Some(usize::from(rewrite.padding)).filter(|padding| *padding <= room);
    let padding = padding.unwrap_or_default();
    claim(leg, identity)?;

    let (buffer, start) = begin(egress, leg);
    layout.write(&mut buffer.bytes, rewrite, padding > 0, leg.transport_sequence, time);
    buffer.bytes.extend_from_slice(prefix);
    let payload_at = buffer.bytes.len();
    buffer.bytes.extend_from_slice(payload);
    rewrite_vp8(&mut buffer.bytes[payload_at..], packet, rewrite.vp8);
    if padding > 0 {
        let end = buffer.bytes.len();
        buffer.bytes.resize(end + padding, 0);
        wire::fill_padding(&mut buffer.bytes[end..]);
    }
    protect(leg, &mut buffer.bytes, start, header_len, identity.index);
    buffer.cut(path, start);
    depart(leg, buffer, start, None, time);
    Ok(())
}

/// Writes a packet that is all padding as the next retransmission of `replica`: of all there is to
/// send, what a receiver surely ignores. Returns its size.
pub(crate) fn append_padding(
    egress: &mut Egress,
    leg: &mut LegState,
    path: Path,
    replica: &ReplicaState,
    probe: Option<u32>,
    time: &BatchTime,
) -> Result<usize, Counter> {
    let (ssrc, _) = replica.entry.rtx.ok_or(Counter::NoRetransmission)?;
    let made = Made {
        identity: RtpIdentity {
            ssrc,
            payload_type: replica.padding_type().ok_or(Counter::NoRetransmission)?,
            index: replica.rtx_next,
            original: None,
        },
        timestamp: replica.segment.as_ref().map_or(0, |segment| segment.last.timestamp),
        has_padding: true,
        bytes: &PADDING,
    };
    append_made(egress, leg, path, replica, &made, probe, time)
}

/// A packet that comes from no stream.
pub(crate) struct Made<'a> {
    pub(crate) identity: RtpIdentity,
    pub(crate) timestamp: u32,
    /// Whether the payload is padding.
    pub(crate) has_padding: bool,
    pub(crate) bytes: &'a [u8],
}

/// Writes a packet of `replica` that comes from no stream; returns its size.
pub(crate) fn append_made(
    egress: &mut Egress,
    leg: &mut LegState,
    path: Path,
    replica: &ReplicaState,
    made: &Made<'_>,
    probe: Option<u32>,
    time: &BatchTime,
) -> Result<usize, Counter> {
    let identity = made.identity;
    let header = RtpHeader {
        has_padding: made.has_padding,
        marker: false,
        payload_type: identity.payload_type,
        sequence: SequenceNumber(identity.index as u16),
        timestamp: RtpTimestamp(made.timestamp),
        ssrc: identity.ssrc,
        csrcs: wire::Csrcs::NONE,
    };
    let number = leg.transport_sequence.to_be_bytes();
    let mid = replica.entry.mid.as_ref().map(|mid| mid.as_bytes());
    let mut elements: [(u8, &[u8]); ELEMENTS_MAX] = [(0, &[]); ELEMENTS_MAX];
    let count = fill(&mut elements, leg, ours(mid, None, &time.send_time, &number));
    let extensions = ExtensionWriter::new(&elements[..count]).expect("ids and lengths are those of valid packets");
    claim(leg, identity)?;

    let (buffer, start) = begin(egress, leg);
    let header_len = header.encoded_len(&extensions);
    buffer.bytes.resize(start + header_len, 0);
    header
        .write(&extensions, &mut buffer.bytes[start..])
        .expect("the room was measured");
    buffer.bytes.extend_from_slice(made.bytes);
    protect(leg, &mut buffer.bytes, start, header_len, identity.index);
    buffer.cut(path, start);
    Ok(depart(leg, buffer, start, probe, time))
}

/// Begins a datagram; returns where it starts.
fn begin<'a>(egress: &'a mut Egress, leg: &mut LegState) -> (&'a mut Buffer, usize) {
    let buffer = egress.buffer(leg.id, &mut leg.run);
    let start = buffer.bytes.len();
    (buffer, start)
}

/// Records that the datagram at the end of `buffer` is sent now, as part of a probe of the leg's
/// pacer if one is under way; returns its size.
fn depart(leg: &mut LegState, buffer: &mut Buffer, start: usize, probe: Option<u32>, time: &BatchTime) -> usize {
    let size = buffer.bytes.len() - start;
    let paced = leg.pace.as_mut().and_then(|pace| pace.left(time.at, size));
    if leg.entry.extensions_out.id(ExtensionKind::TransportSequence).is_some() {
        buffer.departed(time.at, leg.transport_sequence, size, probe.or(paced));
        leg.transport_sequence = leg.transport_sequence.wrapping_add(1);
    }
    size
}

/// Seals the packet that `bytes` ends with, in place, if the leg has keys.
fn protect(leg: &mut LegState, bytes: &mut Vec<u8>, start: usize, header_len: usize, index: u64) {
    let Some(keys) = leg.keys_in_use() else { return };
    let clear_len = bytes.len() - start;
    bytes.extend_from_slice(&[0; RTP_OVERHEAD_MAX]);
    let sealed = keys.sealer.seal_rtp(&mut bytes[start..], clear_len, header_len, index);
    bytes.truncate(start + sealed);
}

/// Values of header extensions that are not simply passed on.
struct Own<'a> {
    mid: Option<&'a Mid>,
    /// Instead of what came with the packet.
    playout_delay: Option<&'a [u8; 3]>,
    send_time: &'a [u8],
    transport_sequence: &'a [u8],
    /// The dependency descriptor, where it changes.
    descriptor: Option<&'a [u8]>,
}

/// Lists the extensions the leg carries: what came with the packet in the order of the kinds, then
/// our own. Returns how many.
fn list_elements<'a>(
    elements: &mut [(u8, &'a [u8]); ELEMENTS_MAX],
    leg: &LegState,
    packet: &'a Packet,
    own: &Own<'a>,
) -> usize {
    let forwarded = packet.info().extensions.forwarded(packet.bytes());
    let forwarded = forwarded.filter(|(kind, _)| own.playout_delay.is_none() || *kind != ExtensionKind::PlayoutDelay);
    let changed = forwarded.map(|(kind, value)| match kind {
        ExtensionKind::DependencyDescriptor => (kind, own.descriptor.unwrap_or(value)),
        _ => (kind, value),
    });
    let mid = own.mid.map(|mid| mid.as_bytes());
    let delay = own.playout_delay.map(|delay| &delay[..]);
    let ours = ours(mid, delay, own.send_time, own.transport_sequence);
    fill(elements, leg, changed.chain(ours))
}

/// The extensions of our own.
fn ours<'a>(
    mid: Option<&'a [u8]>,
    playout_delay: Option<&'a [u8]>,
    send_time: &'a [u8],
    transport_sequence: &'a [u8],
) -> impl Iterator<Item = (ExtensionKind, &'a [u8])> {
    let mid = mid.map(|mid| (ExtensionKind::Mid, mid));
    let stamps = [
        (ExtensionKind::AbsSendTime, send_time),
        (ExtensionKind::TransportSequence, transport_sequence),
    ];
    let delay = playout_delay.map(|delay| (ExtensionKind::PlayoutDelay, delay));
    mid.into_iter().chain(delay).chain(stamps)
}

/// Lists those values for which the leg has an id; returns how many.
fn fill<'a>(
    elements: &mut [(u8, &'a [u8]); ELEMENTS_MAX],
    leg: &LegState,
    values: impl Iterator<Item = (ExtensionKind, &'a [u8])>,
) -> usize {
    let map = &leg.entry.extensions_out;
    let with_ids = values.filter_map(|(kind, value)| Some((map.id(kind)?, value)));
    let mut count = 0;
    for (place, element) in elements.iter_mut().zip(with_ids) {
        *place = element;
        count += 1;
    }
    count
}

/// A (key, SSRC, index) protects one packet, ever. Numbers are made so that this holds; this is
/// what makes sure.
fn claim(leg: &mut LegState, identity: RtpIdentity) -> Result<(), Counter> {
    if leg.keys_in_use().is_none() {
        return Ok(());
    }
    let claimed = leg.indexes.claim(identity.ssrc.0, identity.index, Bytes::New);
    debug_assert!(
        !matches!(claimed, Err(Refused::Used | Refused::TooOld)),
        "{identity:?} was numbered twice"
    );
    claimed.map_err(|_| Counter::KeysExhausted)
}

fn rewrite_vp8(payload: &mut [u8], packet: &Packet, offset: Vp8Ids) {
    let Some(mut descriptor) = packet.info().vp8.filter(|_| offset != Vp8Ids::default()) else {
        return;
    };
    let ids = vp8_ids(packet).plus(offset);
    descriptor.rewrite_picture_id(payload, ids.picture);
    descriptor.rewrite_tl0_pic_idx(payload, ids.tl0);
}

/// The running counters in a VP8 payload; those it does not carry are zero, as are those of other
/// codecs.
pub(crate) fn vp8_ids(packet: &Packet) -> Vp8Ids {
    packet.info().vp8.map_or(Vp8Ids::default(), |descriptor| Vp8Ids {
        picture: descriptor.picture_id.map_or(0, |id| id.value()),
        tl0: descriptor.tl0_pic_idx.unwrap_or(0),
    })
}
