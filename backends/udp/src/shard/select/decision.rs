//! Decisions about frames.

use dataplane::{Counter, Replica};
use wire::codec::Layer;
use wire::codec::dependency::DecodeTargets;

/// The layers that a replica is to get.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// The highest layer.
    pub(in crate::shard) layer: Layer,
    /// The smaller size to keep beside it.
    pub(in crate::shard) fallback_spatial: Option<u8>,
}

impl Wanted {
    pub(crate) fn of(entry: &Replica) -> Self {
        Wanted {
            layer: entry.target,
            fallback_spatial: entry.fallback_spatial,
        }
    }
}

/// The decision about a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decision {
    /// Sent, or why not.
    pub(crate) send: Result<(), Counter>,
    /// It is the highest frame of its picture that the replica gets: its last packet gets the
    /// marker.
    pub(crate) is_top: bool,
    /// Pictures held back before it.
    pub(crate) held_back: u16,
    /// So many frames back lies one of the same picture that is sent only to keep its size: this
    /// one is made to refer to it.
    pub(crate) kept_before: Option<u16>,
    pub(crate) active: Active,
}

/// The decode targets a receiver can have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Active {
    pub(crate) targets: DecodeTargets,
    /// They are fewer than the sender produces.
    pub(crate) fewer: bool,
    /// They differ from those the receiver knows.
    pub(crate) new: bool,
}
