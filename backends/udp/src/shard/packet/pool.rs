//! Packet buffers that are used again.

use std::sync::Arc;

use dataplane::limits::DATAGRAM_MAX;

use crate::prefetch;
use crate::shard::packet::Packet;

/// Buffers for packets up to this size are kept apart: audio must not occupy room for video.
const SMALL: usize = 384;

/// How many unused buffers of each size a shard keeps. More than that were a burst, and go back to
/// the allocator.
const SPARE_MAX: usize = 64;

/// Unused packet buffers of one shard.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    small: Vec<Arc<Packet>>,
    large: Vec<Arc<Packet>>,
}

impl Pool {
    /// A buffer without other owners, with room for `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Arc<Packet> {
        let (spare, room) = match len <= SMALL {
            true => (&mut self.small, SMALL),
            false => (&mut self.large, DATAGRAM_MAX),
        };
        debug_assert!(len <= room);
        spare.pop().unwrap_or_else(|| Arc::new(Packet::with_room(room)))
    }

    /// Takes a buffer back, unless another shard still reads it: then whoever drops it last frees
    /// it.
    pub(crate) fn give(&mut self, mut packet: Arc<Packet>) {
        if Arc::get_mut(&mut packet).is_none() {
            return;
        }
        let spare = match packet.bytes.len() <= SMALL {
            true => &mut self.small,
            false => &mut self.large,
        };
        if spare.len() < SPARE_MAX {
            // The next packet is written there. The processor prefetches the rest from the
            // beginning.
            prefetch::first(&packet.bytes);
            spare.push(packet);
        }
    }
}
