//! The offer of ours that is out, and whether another is needed.

use std::time::Instant;

/// Whether an offer of ours is out. There is one at a time; what changes meanwhile goes into the
/// next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offering {
    /// The offer that is out.
    pub(crate) pending: Option<Pending>,
    /// There is something new to offer.
    pub(crate) needed: bool,
    last_id: u32,
}

/// An offer that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) id: u32,
    pub(crate) since: Instant,
}

impl Offering {
    /// Goes on after an offer with this number. `needed` is whether there is something new to
    /// offer.
    pub(super) fn after(last_id: u32, needed: bool) -> Self {
        Self {
            pending: None,
            needed,
            last_id,
        }
    }

    /// An offer goes out now. Returns its number.
    pub(super) fn begin(&mut self, now: Instant) -> u32 {
        self.last_id += 1;
        self.needed = false;
        self.pending = Some(Pending {
            id: self.last_id,
            since: now,
        });
        self.last_id
    }

    pub(super) fn last_id(&self) -> u32 {
        self.last_id
    }
}
