//! Invariants of every history.

mod ledger;
mod permissions;

use std::fmt;

pub(crate) use ledger::Ledger;
pub(crate) use permissions::{Permissions, SourceState};

/// An invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Invariant {
    /// Nobody receives media that they may not: without a subscription or permission, after
    /// leaving, or their own.
    Permissions,
    /// Source numbers map to replica numbers injectively and in order, late packets are sent under
    /// their own number, no loss is hidden, and timestamps and picture ids do not jump back.
    Numbers,
    /// A (key, SSRC, index) protects one packet, ever; an SSRC is not used twice on a leg.
    Keystream,
    /// Table entries belong to present participants, and every write is valid.
    Tables,
    /// Everybody who joins is answered, and when all is quiet everybody gets their subscriptions.
    Liveness,
    /// Received media is as described.
    Description,
}

/// A broken invariant, and how it broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The broken invariant.
    pub invariant: Invariant,
    /// How.
    pub what: String,
}

impl Violation {
    pub(crate) fn new(invariant: Invariant, what: impl Into<String>) -> Self {
        Self {
            invariant,
            what: what.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.invariant, self.what)
    }
}

#[cfg(test)]
mod tests;
