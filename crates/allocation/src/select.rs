//! The smallest policy there can be: one stream, one estimate, one answer.

use crate::{BitRate, DecodeTarget, EstimateHistory};

/// Says which layers of one stream a receiver should get.
///
/// A pure function: no state, no clock. `history` ends with `estimate`, and its newest time is now.
///
/// Source: Scallop section 5.4, `selectDecodeTarget`.
pub trait SelectDecodeTarget {
    /// The target from now on; `current` when nothing should change.
    fn select(&self, current: DecodeTarget, history: &EstimateHistory, estimate: BitRate) -> DecodeTarget;
}
