//! One kind of frame: its layer, and the values that such frames share.

use super::{ChainDiffs, FrameDiffs, Indications, SPATIAL_LAYERS_MAX, TEMPORAL_LAYERS_MAX};

/// A place inside an encoding: S*i*T*j*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layer {
    /// 0 is the smallest size.
    pub spatial: u8,
    /// 0 is the lowest frame rate.
    pub temporal: u8,
}

impl Layer {
    /// Above every layer: a receiver with this layer gets everything.
    pub const HIGHEST: Self = Self {
        spatial: u8::MAX,
        temporal: u8::MAX,
    };

    /// Whether a receiver with this layer may get frames of `other`, which is higher in neither
    /// dimension.
    pub const fn covers(self, other: Self) -> bool {
        other.spatial <= self.spatial && other.temporal <= self.temporal
    }

    /// The layer of the template after one with this layer, by its two-bit field; 3 is the end and
    /// does not occur here.
    pub(super) const fn next(self, idc: u32) -> Self {
        match idc {
            0 => self,
            1 => Self {
                temporal: self.temporal + 1,
                ..self
            },
            _ => Self {
                spatial: self.spatial + 1,
                temporal: 0,
            },
        }
    }

    /// Whether it is within Weir's limits.
    pub(super) const fn is_supported(self) -> bool {
        (self.spatial as usize) < SPATIAL_LAYERS_MAX && (self.temporal as usize) < TEMPORAL_LAYERS_MAX
    }
}

/// The largest frame size of one spatial layer.
///
/// Shape: pixels, 1 to 65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resolution {
    /// Across.
    pub width: u32,
    /// Down.
    pub height: u32,
}

/// Values shared by many frames; a packet names a template and adds the differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameTemplate {
    /// The layer of these frames.
    pub layer: Layer,
    /// Their indications for the decode targets.
    pub indications: Indications,
    /// The frames they refer to.
    pub fdiffs: FrameDiffs,
    /// The previous frame of each chain.
    pub chain_diffs: ChainDiffs,
}
