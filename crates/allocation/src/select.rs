//! The smallest policy there can be: one stream, one estimate, one answer.

use crate::{BitRate, DecodeTarget, EstimateHistory};

/// Selects the layers of one stream for a receiver.
///
/// A pure function: no state, no clock. `history` ends with `estimate`, and its newest time is the
/// present.
///
/// Source: Scallop section 5.4, `selectDecodeTarget`.
pub trait SelectDecodeTarget {
    /// The target from now on; `current` for no change.
    fn select(&self, current: DecodeTarget, history: &EstimateHistory, estimate: BitRate) -> DecodeTarget;
}
