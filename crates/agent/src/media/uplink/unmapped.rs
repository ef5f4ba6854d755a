//! A stream that arrives and is known only by its packets.

use wire::{Mid, PayloadType, Rid, Ssrc};

/// A stream as the data plane described it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnmappedStream {
    pub(crate) ssrc: Ssrc,
    pub(crate) payload_type: PayloadType,
    pub(crate) mid: Option<Mid>,
    pub(crate) rid: Option<Rid>,
    pub(crate) repaired_rid: Option<Rid>,
}
