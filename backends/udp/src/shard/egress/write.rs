//! Writing a packet for one receiver into its egress run.

use dataplane::limits::DATAGRAM_MAX;
use dataplane::{Counter, Path};
use wire::{ExtensionKind, ExtensionWriter, RtpHeader, RtpTimestamp, SequenceNumber};

use crate::shard::egress::Egress;
use crate::shard::egress::header::{EXTENSIONS_MAX, list_extensions, own_extensions};
use crate::shard::egress::seal::{claim_index, seal_rtp};
use crate::shard::leg::LegState;
use crate::shard::packet::Packet;
use crate::shard::packet::vp8::Vp8Ids;
use crate::shard::replica::ReplicaState;
use crate::shard::rewrite::{BatchTime, Rewrite, RtpIdentity};
use crate::shard::runs::{Buffer, EgressRuns};

/// Bytes of padding in a packet that has nothing else; the last says how many there are (RFC 3550
/// section 5.1).
const PADDING: [u8; 255] = {
    let mut padding = [0; 255];
    padding[254] = 255;
    padding
};

/// Writes `packet` as a replica sends it: header, payload, VP8 ids, protection. Nothing is written
/// when it cannot be sent.
pub(crate) fn write_packet(
    egress: &mut Egress,
    leg: &mut LegState,
    path: Path,
    packet: &Packet,
    rewrite: &Rewrite,
    time: &BatchTime,
) -> Result<(), Counter> {
    let identity = rewrite.identity;
    let layout = egress.layouts.of(leg, packet, rewrite);
    let header_len = layout.len();
    let prefix = identity.original.map(|original| original.0.to_be_bytes());
    let prefix = prefix.as_ref().map_or(&[][..], |bytes| &bytes[..]);
    let payload = rewrite.payload(packet);
    let room = DATAGRAM_MAX
        .checked_sub(header_len + prefix.len() + payload.len())
        .ok_or(Counter::ReplicaOversized)?;
    let padding = Some(usize::from(rewrite.padding)).filter(|padding| *padding <= room);
    let padding = padding.unwrap_or_default();
    claim_index(leg, identity)?;

    let (buffer, start) = begin(&mut egress.runs, leg);
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
    seal_rtp(leg, &mut buffer.bytes, start, header_len, identity.index);
    buffer.cut(path, start);
    depart(leg, buffer, start, None, time);
    Ok(())
}

/// Writes a packet of padding as the next retransmission of `replica`, which every receiver
/// ignores. Returns its size.
pub(crate) fn write_padding(
    egress: &mut Egress,
    leg: &mut LegState,
    path: Path,
    replica: &ReplicaState,
    probe: Option<u32>,
    time: &BatchTime,
) -> Result<usize, Counter> {
    let (ssrc, _) = replica.entry.rtx.ok_or(Counter::NoRetransmission)?;
    let made = GeneratedPacket {
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
    write_made(egress, leg, path, replica, &made, probe, time)
}

/// A packet that is not of a stream.
pub(crate) struct GeneratedPacket<'a> {
    pub(crate) identity: RtpIdentity,
    pub(crate) timestamp: u32,
    /// Whether the payload is padding.
    pub(crate) has_padding: bool,
    pub(crate) bytes: &'a [u8],
}

/// Writes a packet of `replica` that is not of a stream; returns its size.
pub(crate) fn write_made(
    egress: &mut Egress,
    leg: &mut LegState,
    path: Path,
    replica: &ReplicaState,
    made: &GeneratedPacket<'_>,
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
    let mut elements: [(u8, &[u8]); EXTENSIONS_MAX] = [(0, &[]); EXTENSIONS_MAX];
    let count = list_extensions(&mut elements, leg, own_extensions(mid, None, &time.send_time, &number));
    let extensions = ExtensionWriter::new(&elements[..count]).expect("ids and lengths are those of valid packets");
    claim_index(leg, identity)?;

    let (buffer, start) = begin(&mut egress.runs, leg);
    let header_len = header.encoded_len(&extensions);
    buffer.bytes.resize(start + header_len, 0);
    header
        .write(&extensions, &mut buffer.bytes[start..])
        .expect("the room was measured");
    buffer.bytes.extend_from_slice(made.bytes);
    seal_rtp(leg, &mut buffer.bytes, start, header_len, identity.index);
    buffer.cut(path, start);
    Ok(depart(leg, buffer, start, probe, time))
}

/// Begins a datagram; returns where it starts.
fn begin<'a>(runs: &'a mut EgressRuns, leg: &mut LegState) -> (&'a mut Buffer, usize) {
    let buffer = runs.buffer(leg.id, &mut leg.run);
    let start = buffer.bytes.len();
    (buffer, start)
}

/// Records that the datagram at the end of `buffer` is sent now, as part of a probe of the leg's
/// pacer if one is under way; returns its size.
fn depart(leg: &mut LegState, buffer: &mut Buffer, start: usize, probe: Option<u32>, time: &BatchTime) -> usize {
    let size = buffer.bytes.len() - start;
    let paced = leg.pace.as_mut().and_then(|pace| pace.sent(time.at, size));
    if leg.entry.extensions_out.id(ExtensionKind::TransportSequence).is_some() {
        buffer.departed(time.at, leg.transport_sequence, size, probe.or(paced));
        leg.transport_sequence = leg.transport_sequence.wrapping_add(1);
    }
    size
}

fn rewrite_vp8(payload: &mut [u8], packet: &Packet, offset: Vp8Ids) {
    let Some(mut descriptor) = packet.info().vp8.filter(|_| offset != Vp8Ids::default()) else {
        return;
    };
    let ids = packet.vp8_ids().plus(offset);
    descriptor.rewrite_picture_id(payload, ids.picture);
    descriptor.rewrite_tl0_pic_idx(payload, ids.tl0);
}
