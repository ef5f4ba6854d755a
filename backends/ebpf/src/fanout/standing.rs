//! Where a replica that leaves the kernel stands, for who goes on with it.

use dataplane::{Continuation, StreamKey};
use wire::codec::Layer;

use crate::layout::fanout::{LAYERS_NONE, LAYERS_VP8, ReplicaProgress};

/// The number behind the last one.
pub(super) fn next(progress: &ReplicaProgress) -> u16 {
    progress.newest.wrapping_add(1).wrapping_add(progress.shift) as u16
}

/// All that it takes to go on with this source. `None` where frames refer to others by descriptors: what was decided of those nobody else can know.
pub(super) fn continuation(source: StreamKey, progress: &ReplicaProgress) -> Option<Continuation> {
    let is_plain = [LAYERS_NONE, LAYERS_VP8].contains(&progress.layers.into());
    is_plain.then(|| Continuation {
        source,
        newest: progress.newest as u16,
        next: next(progress),
        timestamp_offset: progress.timestamp_offset,
        picture_offset: progress.picture_offset.wrapping_sub(progress.held_back),
        tl0_offset: progress.tl0_offset,
        layer: Layer {
            spatial: 0,
            temporal: progress.temporal,
        },
        last: (progress.last_timestamp, progress.last_picture, progress.last_tl0),
    })
}
