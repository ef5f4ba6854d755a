//! Entries as the program has them.

use dataplane::{Leg, Replica, Stream, StreamFormat};

use super::fit;
use super::kernel::pair;
use crate::layout::fanout::{FANOUT_FORMATS, NOT_NEGOTIATED, ReplicaEntry, StreamEntry};

/// A stream, with the places of those who get it.
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

/// A replica of a stream with these payload types.
pub(super) fn replica(replica: &Replica, leg: &Leg, formats: &[StreamFormat]) -> ReplicaEntry {
    let mut entry = ReplicaEntry {
        ssrc: replica.ssrc.0.to_be(),
        first_sequence: replica.first_sequence,
        paused: replica.paused.into(),
        spatial: replica.target.spatial,
        temporal: replica.target.temporal,
        types: [NOT_NEGOTIATED as u8; FANOUT_FORMATS as usize],
        ..ReplicaEntry::default()
    };
    if let Some((local, remote)) = fit::nominated(leg) {
        entry.ready = 1;
        entry.path = pair(local, remote);
    }
    for (to, format) in entry.types.iter_mut().zip(formats) {
        let known = replica.formats.iter().find(|known| known.source == format.payload_type);
        *to = known.map_or(NOT_NEGOTIATED as u8, |known| known.payload_type.get());
    }
    entry
}
