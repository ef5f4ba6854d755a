//! Short lists of frame-number differences, stored inline so that reading a packet allocates
//! nothing.

use super::{CHAINS_MAX, REFERENCES_MAX};

/// How far back the frames lie that a frame refers to.
///
/// Shape: at most [`REFERENCES_MAX`], each 1 to 4,096 in frame numbers; in a template, 1 to 16.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameDiffs {
    values: [u16; REFERENCES_MAX],
    len: u8,
}

impl FrameDiffs {
    /// No references.
    pub const NONE: Self = Self {
        values: [0; REFERENCES_MAX],
        len: 0,
    };
    /// The largest difference a packet can carry.
    pub const VALUE_MAX: u16 = 4096;

    /// `None` when there are too many, or one is out of range.
    pub fn new(values: &[u16]) -> Option<Self> {
        let mut diffs = Self::NONE;
        values.iter().try_for_each(|&value| diffs.push(value))?;
        Some(diffs)
    }

    /// Adds one; `None` when there is no room or it is out of range.
    pub(super) fn push(&mut self, value: u16) -> Option<()> {
        if !(1..=Self::VALUE_MAX).contains(&value) {
            return None;
        }
        *self.values.get_mut(usize::from(self.len))? = value;
        self.len += 1;
        Some(())
    }

    /// The differences, in the sender's order.
    pub fn as_slice(&self) -> &[u16] {
        &self.values[..usize::from(self.len)]
    }

    /// The same and one more; `None` when there is no room or it is out of range.
    pub fn with(mut self, value: u16) -> Option<Self> {
        self.push(value)?;
        Some(self)
    }
}

impl std::fmt::Debug for FrameDiffs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// How far back the previous frame of each chain lies; 0 where the chain needs none.
///
/// Shape: at most [`CHAINS_MAX`], each 0 to 255 in frame numbers; in a template, 0 to 15.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainDiffs {
    values: [u8; CHAINS_MAX],
    len: u8,
}

impl ChainDiffs {
    /// There are no chains.
    pub const NONE: Self = Self {
        values: [0; CHAINS_MAX],
        len: 0,
    };

    /// `None` when there are too many.
    pub fn new(values: &[u8]) -> Option<Self> {
        let mut diffs = Self::NONE;
        diffs.values.get_mut(..values.len())?.copy_from_slice(values);
        diffs.len = values.len() as u8;
        Some(diffs)
    }

    /// Reads `count` of them, at most [`CHAINS_MAX`].
    pub(super) fn read(count: usize, mut next: impl FnMut() -> Option<u8>) -> Option<Self> {
        let mut diffs = Self::NONE;
        for value in diffs.values.iter_mut().take(count) {
            *value = next()?;
        }
        diffs.len = count.min(CHAINS_MAX) as u8;
        Some(diffs)
    }

    /// The difference of each chain.
    pub fn as_slice(&self) -> &[u8] {
        &self.values[..usize::from(self.len)]
    }
}

impl std::fmt::Debug for ChainDiffs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}
