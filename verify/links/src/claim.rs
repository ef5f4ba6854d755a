//! Requirements for the estimate.

use std::time::Duration;

/// Requirements for a stretch of constant capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// How far the estimate may be from the capacity. Shape: 0.2 for 20 %.
    pub band: f64,
    /// How soon it is there when the capacity fell,
    pub down: Duration,
    /// and when it rose.
    pub up: Duration,
}

impl Claim {
    /// Round trips up to 100 ms, loss up to 2 %.
    pub const NEAR: Self = Self {
        band: 0.20,
        down: Duration::from_secs(2),
        up: Duration::from_secs(8),
    };
    /// Beyond that.
    pub const FAR: Self = Self {
        band: 0.35,
        down: Duration::from_secs(20),
        up: Duration::from_secs(20),
    };
}
