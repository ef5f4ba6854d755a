//! How much, and how good: the two quantities everything here is about.

use wire::codec::dependency::Layer;

/// Bits per second of UDP payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Thousands of bits per second.
    pub const fn kilo(thousands: u64) -> Self {
        Self(thousands * 1_000)
    }

    /// This rate times a factor.
    ///
    /// Shape: a factor that is negative or no number gives 0.
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }

    /// This rate less another one, at least 0.
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Both together.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// The part of a track that a receiver is sent: one encoding, and of it this layer and all that it
/// is predicted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecodeTarget {
    /// The simulcast version, in rising quality from 0; always 0 where there is one encoding.
    pub encoding: u8,
    /// The highest layer inside the encoding.
    pub layer: Layer,
}

impl DecodeTarget {
    /// Encoding, spatial and temporal layer.
    pub const fn new(encoding: u8, spatial: u8, temporal: u8) -> Self {
        let layer = Layer { spatial, temporal };
        Self { encoding, layer }
    }

    /// Whether packets of a layer may be sent for this target.
    pub const fn covers(self, other: Self) -> bool {
        self.encoding == other.encoding && self.layer.covers(other.layer)
    }
}
