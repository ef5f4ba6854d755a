//! Entries as the program has them.

use dataplane::{Leg, Replica, Rewriting, Stream, StreamFormat};
use wire::ExtensionKind;

use super::fit;
use super::kernel::pair;
use super::stamp;
use crate::layout::fanout::{
    FANOUT_FORMATS, NOT_NEGOTIATED, REWRITING_EXACT, REWRITING_LOW_MEMORY, REWRITING_LOW_RETRANSMISSION, ReplicaEntry,
    StreamEntry,
};

/// The entry of a stream, with the places of its replicas.
pub(super) fn stream(stream: &Stream, places: &[u32]) -> StreamEntry {
    let mut entry = StreamEntry {
        formats_count: stream.formats.len() as u32,
        replicas_count: places.len() as u32,
        ..StreamEntry::default()
    };
    if let Some((ntp, rtp)) = stream.reference {
        entry.reference_ntp = ntp.0;
        entry.reference_rtp = rtp.0;
        entry.has_reference = 1;
    }
    for (to, format) in entry.formats.iter_mut().zip(&stream.formats) {
        to.payload_type = format.payload_type.get();
        to.codec = fit::key_frames(format.codec).unwrap_or(0) as u8;
        to.clock_rate = format.codec.clock_rate();
    }
    let rows = entry.replicas.iter_mut().flat_map(|row| &mut row.places);
    for (to, place) in rows.zip(places) {
        *to = *place;
    }
    entry
}

/// Writes the header extensions of a stream from `from` into its entry: the forwarded ones, by the
/// ids they arrive and leave under.
pub(super) fn extensions(entry: &mut StreamEntry, from: &Leg, carried: &[(u8, u8)]) {
    for (rank, (id, goes_out)) in carried.iter().enumerate() {
        entry.carried[usize::from(id / 32)].ranks[usize::from(id % 32)] = rank as u8 + 1;
        entry.ids[rank] = *goes_out;
        entry.two_byte |= u8::from(stamp::needs_two_bytes(*goes_out));
    }
    entry.ids_count = carried.len() as u8;
    let id = |kind| from.extensions_in.id(kind).unwrap_or(0);
    entry.level_id = id(ExtensionKind::AudioLevel);
    entry.number_id = id(ExtensionKind::TransportSequence);
    entry.descriptor = id(ExtensionKind::DependencyDescriptor).into();
}

/// A replica of a stream with these payload types; its leg's packets are counted at `place`, if
/// they are.
pub(super) fn replica(replica: &Replica, leg: &Leg, formats: &[StreamFormat], place: Option<u32>) -> ReplicaEntry {
    let mut entry = ReplicaEntry {
        ssrc: replica.ssrc.0.to_be(),
        first_sequence: replica.first_sequence,
        paused: replica.paused.into(),
        spatial: replica.target.spatial,
        temporal: replica.target.temporal,
        rewriting: match replica.rewriting {
            Rewriting::Exact => REWRITING_EXACT,
            Rewriting::LowMemory => REWRITING_LOW_MEMORY,
            Rewriting::LowRetransmission => REWRITING_LOW_RETRANSMISSION,
        } as u8,
        types: [NOT_NEGOTIATED as u8; FANOUT_FORMATS as usize],
        ..ReplicaEntry::default()
    };
    if let Some((local, remote)) = fit::nominated(leg) {
        entry.ready = 1;
        entry.path = pair(local, remote);
    }
    stamp::of_replica(&mut entry, replica, leg, place);
    for (to, format) in entry.types.iter_mut().zip(formats) {
        let known = replica.formats.iter().find(|known| known.source == format.payload_type);
        *to = known.map_or(NOT_NEGOTIATED as u8, |known| known.payload_type.get());
    }
    entry
}
