/// Temporal layers of a stream: AV1 L1T3 (Scallop section 5.4).
pub const LAYERS: u8 = 3;

/// The layers of a stream that a receiver gets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Quality {
    /// The base layer.
    Low,
    /// The base layer and the first enhancement layer.
    Medium,
    /// All layers.
    #[default]
    High,
}

impl Quality {
    /// Every quality, the lowest first.
    pub const ALL: [Self; LAYERS as usize] = [Self::Low, Self::Medium, Self::High];

    /// The highest layer of the quality, from 0.
    pub fn layer(self) -> u8 {
        self as u8
    }
}

/// The rates of a sender's stream in bit/s, each with all layers up to its quality.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates(pub [u64; LAYERS as usize]);

impl Rates {
    /// 1, 1.5 and 3 Mbit/s (Scallop section 8.4).
    pub const SCALLOP: Self = Self([1_000_000, 1_500_000, 3_000_000]);

    /// The rate of one quality.
    pub fn of(&self, quality: Quality) -> u64 {
        self.0[usize::from(quality.layer())]
    }
}
