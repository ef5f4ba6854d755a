//! Accounts of identities: how many bytes each may make others receive, or is sent itself.
//!
//! An account belongs to the identity and not to the participant, because a client that leaves and
//! joins again is a new participant each time.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::budget::{Budget, Rate};

/// Accounts of one kind, by identity.
#[derive(Debug, Default)]
pub(in crate::room) struct Accounts(BTreeMap<String, Budget>);

impl Accounts {
    /// When an identity has something left again; `None` when it has now.
    pub(in crate::room) fn open_at(&self, now: Instant, rate: Rate, identity: &str) -> Option<Instant> {
        self.0.get(identity)?.opens_at(now, rate)
    }

    /// Charges an identity. No more than `max` accounts are kept; at the limit those that are full
    /// go first.
    pub(in crate::room) fn charge(&mut self, now: Instant, rate: Rate, identity: &str, len: usize, max: usize) {
        if let Some(budget) = self.0.get_mut(identity) {
            return budget.owe(now, rate, len);
        }
        if self.0.len() >= max {
            self.0.retain(|_, budget| !budget.is_full(now, rate));
        }
        if self.0.len() >= max {
            self.0.pop_first();
        }
        let mut budget = Budget::new(now, rate);
        budget.owe(now, rate, len);
        self.0.insert(identity.to_owned(), budget);
    }
}
