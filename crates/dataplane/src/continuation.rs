//! How one device goes on where another stopped.

use wire::codec::Layer;

use crate::StreamKey;

/// Where a replica stands that another device has sent so far, as its receiver saw it: so that this one goes on without a key frame.
///
/// It is begun with the next packet of the source behind `newest`, whatever that starts, as long as nothing else has been begun and the replica
/// should come from there. What came before is `before_switch`. Without encryption only: numbers may be above those a stream may start with.
/// It says nothing of frames, so that it is for packets without descriptors that refer to them.
///
/// Shape: sequence numbers, timestamps and VP8's counters as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Continuation {
    /// What it comes from.
    pub source: StreamKey,
    /// The source's number of the newest packet that was accounted for, sent or not.
    pub newest: u16,
    /// The replica's number for the one behind.
    pub next: u16,
    /// Added to timestamps.
    pub timestamp_offset: u32,
    /// Added to VP8's picture ids, from the next picture on.
    pub picture_offset: u16,
    /// Added to VP8's TL0PICIDX.
    pub tl0_offset: u8,
    /// The highest layer.
    pub layer: Layer,
    /// The timestamp, picture id and TL0PICIDX of the newest packet that was sent, as sent: what another source continues.
    pub last: (u32, u16, u8),
}

impl Continuation {
    /// How far a packet of the source lies behind the newest; `None` for one that lies before.
    pub fn ahead(&self, sequence: u16) -> Option<u64> {
        let ahead = sequence.wrapping_sub(self.newest);
        (1..1 << 15).contains(&ahead).then(|| u64::from(ahead))
    }
}
