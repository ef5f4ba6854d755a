//! How much one identity may make the others of its room hear: by changing, by coming and going, by
//! choosing its audience; and how much it may be sent itself, by coming in again and again.
//!
//! All that a client stores is told to everybody each time a little of it changes, so a few bytes
//! received could become many bytes sent.

use std::time::{Duration, Instant};

use crate::budget::Rate;
use crate::context::Context;
use crate::limits::{
    GREETING_BURST, GREETING_PER_SECOND, GREETING_READ_RATE, NEWS_BURST, NEWS_MESSAGE_MIN, NEWS_PER_SECOND,
    NEWS_REMEMBERED_MAX,
};
use crate::room::roster::Roster;
use crate::room::updates::Updates;

const NEWS: Rate = Rate {
    per_second: NEWS_PER_SECOND,
    burst: NEWS_BURST,
};

const GREETINGS: Rate = Rate {
    per_second: GREETING_PER_SECOND,
    burst: GREETING_BURST,
};

impl Updates {
    /// When the others may hear of this identity again; `None` when they may now.
    pub(in crate::room) fn news_open_at(&self, ctx: &Context<'_>, identity: &str) -> Option<Instant> {
        self.news.open_at(ctx.now, NEWS, identity)
    }

    /// Each of the others is told this many bytes about an identity. A message costs each receiver
    /// more than its bytes, so short ones count as [`NEWS_MESSAGE_MIN`].
    pub(in crate::room) fn charge_news(&mut self, ctx: &Context<'_>, roster: &Roster, identity: &str, len: usize) {
        let len = len.max(NEWS_MESSAGE_MIN);
        let max = roster.len() + NEWS_REMEMBERED_MAX;
        self.news.charge(ctx.now, NEWS, identity, len, max);
    }

    /// Whether an identity comes in more often than the size of the room permits.
    pub(crate) fn is_greeted_too_often(&self, now: Instant, identity: &str) -> bool {
        self.greetings.open_at(now, GREETINGS, identity).is_some()
    }

    /// An identity is told of everybody. Returns how long its client may take to read that.
    pub(in crate::room) fn charge_greeting(&mut self, ctx: &Context<'_>, roster: &Roster, identity: &str) -> Duration {
        let len: usize = roster.all().map(|other| other.storage.all()).sum();
        let max = roster.len() + NEWS_REMEMBERED_MAX;
        self.greetings.charge(ctx.now, GREETINGS, identity, len, max);
        Duration::from_millis((len as u64 * 1000) / u64::from(GREETING_READ_RATE))
    }
}
