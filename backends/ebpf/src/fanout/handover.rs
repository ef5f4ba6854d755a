//! The state of a replica that moves between the kernel and the base, for the side that continues
//! it.

use dataplane::{ReplicaSnapshot, ReplicaStatistics, StreamKey};
use wire::codec::Layer;

use crate::clock::nanoseconds;
use crate::layout::fanout::{Decision, LAYERS_NONE, LAYERS_VP8, ReplicaProgress};

/// The state of a replica with this progress. If frames are named by VP9 or by dependency
/// descriptors it awaits a key frame, because the decisions about them cannot be handed over.
pub(super) fn snapshot(source: Option<StreamKey>, progress: &ReplicaProgress) -> ReplicaSnapshot {
    let layers = progress.layers.into();
    let newest = progress.decisions[0];
    let is_known = layers == LAYERS_VP8 && progress.decided > 0;
    ReplicaSnapshot {
        source,
        awaits_key_frame: ![LAYERS_NONE, LAYERS_VP8].contains(&layers),
        newest: progress.newest as u16,
        next: progress.newest.wrapping_add(1).wrapping_add(progress.shift) as u16,
        timestamp_offset: progress.timestamp_offset,
        picture_offset: progress.picture_offset.wrapping_sub(progress.held_back),
        tl0_offset: progress.tl0_offset,
        layer: Layer {
            spatial: 0,
            temporal: progress.temporal,
        },
        last: (progress.last_timestamp, progress.last_picture, progress.last_tl0),
        frame: (progress.has_frame != 0).then_some(progress.last_frame),
        frame_offset: progress.frame_offset,
        decided: is_known.then_some((newest.timestamp, newest.sent != 0)),
    }
}

/// The counts of this progress.
pub(super) fn counts(progress: &ReplicaProgress) -> ReplicaStatistics {
    ReplicaStatistics {
        packets: progress.packets,
        octets: progress.octets,
        resent: progress.resent,
        ..ReplicaStatistics::default()
    }
}

/// The progress of a replica that continues here where the base stopped, by an entry of this epoch.
pub(super) fn resumed(from: &ReplicaSnapshot, epoch: u32) -> ReplicaProgress {
    // Numbers are extended by the kernel's count of the stream, once a packet arrives.
    let newest = (1 << 16) + u64::from(from.newest);
    let (last_timestamp, last_picture, last_tl0) = from.last;
    let mut progress = ReplicaProgress {
        newest,
        shift: ((1 << 16) + u64::from(from.next)).wrapping_sub(newest + 1),
        last_at: nanoseconds(),
        last_timestamp,
        last_picture,
        last_tl0,
        timestamp_offset: from.timestamp_offset,
        picture_offset: from.picture_offset,
        tl0_offset: from.tl0_offset,
        temporal: from.layer.temporal,
        epoch,
        has_frame: from.frame.is_some().into(),
        last_frame: from.frame.unwrap_or(0),
        frame_offset: from.frame_offset,
        started: 1,
        continues: 1,
        ..ReplicaProgress::default()
    };
    if let Some((timestamp, is_sent)) = from.decided {
        progress.layers = LAYERS_VP8 as u8;
        progress.decided = 1;
        progress.decisions[0] = Decision {
            timestamp,
            sent: is_sent.into(),
            temporal: from.layer.temporal,
            ..Decision::default()
        };
    }
    progress
}

#[cfg(test)]
mod tests {
    use dataplane::LegId;
    use wire::Ssrc;

    use super::*;

    #[test]
    fn a_replica_that_moves_here_and_leaves_at_once_keeps_its_state() {
        let from = ReplicaSnapshot {
            source: Some(StreamKey {
                leg: LegId(3),
                ssrc: Ssrc(0x11),
            }),
            awaits_key_frame: false,
            newest: 65_535,
            next: 7,
            timestamp_offset: u32::MAX - 2,
            picture_offset: 65_000,
            tl0_offset: 250,
            layer: Layer {
                spatial: 0,
                temporal: 1,
            },
            last: (9_000, 20, 4),
            frame: Some(77),
            frame_offset: 5,
            decided: Some((12_000, false)),
        };
        for decided in [from.decided, Some((12_000, true)), None] {
            let from = ReplicaSnapshot { decided, ..from };
            assert_eq!(snapshot(from.source, &resumed(&from, 5)), from);
        }
    }
}
