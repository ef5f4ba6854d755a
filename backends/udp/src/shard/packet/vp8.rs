//! VP8's running counters.

/// VP8's running counters, or offsets between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vp8Ids {
    pub(crate) picture: u16,
    pub(crate) tl0: u8,
}

impl Vp8Ids {
    pub(crate) fn plus(self, other: Vp8Ids) -> Self {
        Vp8Ids {
            picture: self.picture.wrapping_add(other.picture),
            tl0: self.tl0.wrapping_add(other.tl0),
        }
    }

    pub(crate) fn minus_pictures(self, count: u16) -> Self {
        Vp8Ids {
            picture: self.picture.wrapping_sub(count),
            ..self
        }
    }

    /// The offset that makes `first` the direct successor of `self`.
    pub(crate) fn offset_to_follow(self, first: Vp8Ids) -> Self {
        Vp8Ids {
            picture: self.picture.wrapping_add(1).wrapping_sub(first.picture),
            tl0: self.tl0.wrapping_add(1).wrapping_sub(first.tl0),
        }
    }
}
