//! The conditions of a direction.

use std::time::Duration;

use crate::Loss;

/// Conditions for the frames of one direction: first the bottleneck, then loss, then the delay of
/// the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Capacity of the bottleneck; none if it is not limited. Shape: bits a second, Ethernet header
    /// included, as `tc` counts.
    pub rate: Option<u64>,
    /// The longest wait of a frame before the bottleneck; one that would wait longer is dropped.
    pub queue: Duration,
    /// Frames lost after the bottleneck.
    pub loss: Loss,
    /// How long the way takes.
    pub delay: Duration,
    /// Mean of a random additional delay. Order is kept.
    pub jitter: Duration,
    /// Share of the frames that are reordered. Shape: 0 to 1.
    pub reorder: f64,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            rate: None,
            queue: Duration::from_millis(300),
            loss: Loss::default(),
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            reorder: 0.0,
        }
    }
}
