//! How much one identity may make the others of its room hear: by changing, by coming and going, by
//! choosing its audience.
//!
//! All that a client stores is told to everybody each time a little of it changes, so a few bytes
//! received could become many bytes sent. The account belongs to the identity and not to the
//! participant, because a client that leaves and joins again is a new participant each time.

use std::time::Instant;

use crate::budget::{Budget, Rate};
use crate::context::Context;
use crate::limits::{NEWS_BURST, NEWS_PER_SECOND, NEWS_REMEMBERED_MAX};
use crate::room::Room;

const RATE: Rate = Rate {
    per_second: NEWS_PER_SECOND,
    burst: NEWS_BURST,
};

impl Room {
    /// When the others may hear of this identity again; `None` when they may now.
    pub(in crate::room) fn news_open_at(&self, ctx: &Context<'_>, identity: &str) -> Option<Instant> {
        self.membership.budgets.get(identity)?.opens_at(ctx.now, RATE)
    }

    /// Each of the others is told this many bytes about an identity.
    pub(in crate::room) fn charge_news(&mut self, ctx: &Context<'_>, identity: &str, len: usize) {
        if let Some(budget) = self.membership.budgets.get_mut(identity) {
            return budget.owe(ctx.now, RATE, len);
        }
        if self.membership.budgets.len() >= self.participants.len() + NEWS_REMEMBERED_MAX {
            self.membership
                .budgets
                .retain(|_, budget| !budget.is_full(ctx.now, RATE));
        }
        if self.membership.budgets.len() >= self.participants.len() + NEWS_REMEMBERED_MAX {
            self.membership.budgets.pop_first();
        }
        let mut budget = Budget::new(ctx.now, RATE);
        budget.owe(ctx.now, RATE, len);
        self.membership.budgets.insert(identity.to_owned(), budget);
    }
}
