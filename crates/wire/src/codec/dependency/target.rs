//! Decode targets: a frame's relation to each, and sets of them.

use super::DECODE_TARGETS_MAX;

/// The relation of a frame to a decode target.
///
/// Source: AV1 RTP specification, table A.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Indication {
    /// The frame is not part of the target: nobody on it needs the frame.
    #[default]
    NotPresent,
    /// Part of the target, and no later frame of the target refers to it.
    Discardable,
    /// Part of the target, and when this frame can be decoded, so can all later ones of the target:
    /// start here.
    Switch,
    /// Part of the target, and neither of the other two.
    Required,
}

impl Indication {
    /// Whether the frame is part of the target.
    pub const fn is_present(self) -> bool {
        !matches!(self, Self::NotPresent)
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::NotPresent,
            1 => Self::Discardable,
            2 => Self::Switch,
            _ => Self::Required,
        }
    }

    pub(super) const fn to_bits(self) -> u32 {
        self as u32
    }
}

/// One [`Indication`] for each decode target.
///
/// Shape: two bits each, so that a packet's fit a register.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Indications(u64);

impl Indications {
    /// The frame is part of no target.
    pub const NONE: Self = Self(0);

    /// The frame's indication for `target`; beyond the last target it is not present.
    pub const fn get(self, target: usize) -> Indication {
        if target >= DECODE_TARGETS_MAX {
            return Indication::NotPresent;
        }
        Indication::from_bits((self.0 >> (2 * target)) as u32)
    }

    /// The same but for one target.
    ///
    /// Panics: when there can be no such target.
    #[must_use]
    pub const fn with(self, target: usize, indication: Indication) -> Self {
        assert!(target < DECODE_TARGETS_MAX);
        Self(self.0 & !(3 << (2 * target)) | (indication.to_bits() as u64) << (2 * target))
    }

    /// The targets the frame is part of.
    pub const fn targets(self) -> DecodeTargets {
        DecodeTargets(even_bits(self.0 | self.0 >> 1))
    }

    /// The targets that are not the same without the frame: it is a switch point of them, or
    /// required.
    pub const fn needed_by(self) -> DecodeTargets {
        DecodeTargets(even_bits(self.0 >> 1))
    }
}

/// Bits 0, 2, 4 and so on of `bits`, pushed together.
const fn even_bits(bits: u64) -> u32 {
    let pairs = bits & 0x5555_5555_5555_5555;
    let pairs = (pairs | pairs >> 1) & 0x3333_3333_3333_3333;
    let nibbles = (pairs | pairs >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    let bytes = (nibbles | nibbles >> 4) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
    (halves | halves >> 16) as u32
}

impl FromIterator<Indication> for Indications {
    /// The first item is for decode target 0. Panics: beyond the last possible target.
    fn from_iter<I: IntoIterator<Item = Indication>>(indications: I) -> Self {
        indications
            .into_iter()
            .enumerate()
            .fold(Self::NONE, |all, (target, indication)| all.with(target, indication))
    }
}

impl std::fmt::Debug for Indications {
    /// In the symbols of the specification: `-`, `D`, `S`, `R`, from decode target 0 to the last
    /// present one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = (u64::BITS - self.0.leading_zeros()).div_ceil(2) as usize;
        (0..count).try_for_each(|target| {
            f.write_str(match self.get(target) {
                Indication::NotPresent => "-",
                Indication::Discardable => "D",
                Indication::Switch => "S",
                Indication::Required => "R",
            })
        })
    }
}

/// A set of decode targets, such as those active.
///
/// Shape: bit i is decode target i.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecodeTargets(pub u32);

impl DecodeTargets {
    /// No target.
    pub const NONE: Self = Self(0);

    /// The first `count` targets.
    pub const fn first(count: usize) -> Self {
        if count >= DECODE_TARGETS_MAX {
            return Self(u32::MAX);
        }
        Self((1 << count) - 1)
    }

    /// Whether `target` is in the set.
    pub const fn contains(self, target: usize) -> bool {
        target < DECODE_TARGETS_MAX && self.0 >> target & 1 == 1
    }

    /// The same with `target` in it.
    ///
    /// Panics: when there can be no such target.
    #[must_use]
    pub const fn with(self, target: usize) -> Self {
        assert!(target < DECODE_TARGETS_MAX);
        Self(self.0 | 1 << target)
    }

    /// Targets in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether all of `other` are in the set.
    pub const fn contains_all(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// How many there are.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The targets, lowest first.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..DECODE_TARGETS_MAX).filter(move |&target| self.contains(target))
    }
}

impl FromIterator<usize> for DecodeTargets {
    /// Panics: beyond the last possible target.
    fn from_iter<I: IntoIterator<Item = usize>>(targets: I) -> Self {
        targets.into_iter().fold(Self::NONE, Self::with)
    }
}
