//! The bytes that a room keeps for a participant.

use slots::{Account, Held};

use crate::limits::STORE_SHARE;

/// The bytes that a room keeps for a participant, as of its last change.
#[derive(Default)]
pub(crate) struct StoredBytes {
    all: usize,
    /// The part of that beyond its share.
    pooled: Held,
}

impl StoredBytes {
    /// Those of a participant in a room with this account.
    pub(crate) fn new(account: &Account) -> Self {
        Self {
            all: 0,
            pooled: account.hold(),
        }
    }

    pub(crate) fn set(&mut self, bytes: usize) {
        self.all = bytes;
        self.pooled.set(bytes.saturating_sub(STORE_SHARE));
    }

    pub(crate) fn all(&self) -> usize {
        self.all
    }

    /// Those beyond the share of the participant.
    pub(crate) fn pooled(&self) -> usize {
        self.pooled.bytes()
    }
}
