//! Address pairs on which the peer has checked, and has not yet answered a check of ours.
//!
//! A check proves who sent it and not where it is from: the source of a datagram can be forged. So
//! a pair is used only after the peer has answered a check of ours on it (a triggered check, RFC
//! 8445 section 7.3.1.4). A pair over TCP needs none, because its handshake has proved the address.
//!
//! Our checks go to addresses that may be a stranger's. So each check of the peer leads to one, or
//! two if the first has no answer, and [`RateLimit`] bounds their number.

use std::time::{Duration, Instant};

use dataplane::Path;
use southbound::IceCredentials;

use super::message::{self, CheckId};
use crate::limits::{CHECK_INTERVAL, CHECKS_AT_ONCE_MAX};

/// The time after which a check without an answer is repeated.
const REPEAT: Duration = Duration::from_millis(250);

/// The shortest time between two checks of ours on one pair.
const SPACING: Duration = Duration::from_millis(100);

/// A pair that the peer has not proved.
#[derive(Debug)]
pub(super) struct Unproved {
    pub(super) path: Path,
    /// When the peer last checked on it.
    pub(super) at: Instant,
    /// The number of its newest nomination, if it was nominated.
    pub(super) nomination: Option<u64>,
    /// The user fragments that the peer's newest check names: ours, and its own.
    pub(super) local: String,
    remote: String,
    /// Whether another transport has its path in the tables.
    pub(super) contested: bool,
    pub(super) id: CheckId,
    sent: Option<Instant>,
    /// When our next check is due.
    pub(super) due: Option<Instant>,
    /// Whether the check that is due is a repetition.
    repeats: bool,
}

impl Unproved {
    pub(super) fn new(path: Path, now: Instant) -> Self {
        Unproved {
            path,
            at: now,
            nomination: None,
            local: String::new(),
            remote: String::new(),
            contested: false,
            id: message::new_id(),
            sent: None,
            due: None,
            repeats: false,
        }
    }

    /// The peer checked on it.
    pub(super) fn checked(&mut self, now: Instant, local: &str, remote: &str) {
        self.at = now;
        if self.local != local {
            local.clone_into(&mut self.local);
        }
        if self.remote != remote {
            remote.clone_into(&mut self.remote);
        }
        let is_soon = self
            .sent
            .is_some_and(|sent| now.saturating_duration_since(sent) < SPACING);
        if !is_soon {
            (self.due, self.repeats) = (Some(now), false);
        }
    }

    /// Has a check be sent now: the peer has described itself.
    pub(super) fn described(&mut self, now: Instant) {
        (self.due, self.repeats) = (Some(now), false);
    }

    /// Our check, if it is due and may be sent.
    pub(super) fn take_check(
        &mut self,
        now: Instant,
        remotes: &[IceCredentials],
        rate_limit: &mut RateLimit,
    ) -> Option<Vec<u8>> {
        self.due.filter(|due| *due <= now)?;
        let named = remotes.iter().rev().find(|remote| remote.ufrag == self.remote);
        let remote = named.or(remotes.last())?;
        self.due = None;
        let may_repeat = rate_limit.take(now, self.repeats)?;
        self.sent = Some(now);
        self.due = (may_repeat && !self.repeats).then_some(now + REPEAT);
        self.repeats = true;
        Some(message::request(&self.local, remote, &self.id))
    }
}

/// The number of checks of ours that may be sent on pairs that are not proved, for one transport.
#[derive(Debug)]
pub(super) struct RateLimit {
    left: u32,
    /// Up to when it was refilled.
    refilled: Option<Instant>,
}

impl RateLimit {
    pub(super) fn new() -> Self {
        RateLimit {
            left: CHECKS_AT_ONCE_MAX,
            refilled: None,
        }
    }

    /// Takes one check from it, if there is one. Returns whether the check may be repeated: half of
    /// the rate_limit is for first checks only, which are those that a peer waits for.
    fn take(&mut self, now: Instant, is_repetition: bool) -> Option<bool> {
        let refilled = self.refilled.get_or_insert(now);
        let since = now.saturating_duration_since(*refilled);
        let earned = (since.as_nanos() / CHECK_INTERVAL.as_nanos()).min(u128::from(CHECKS_AT_ONCE_MAX)) as u32;
        *refilled += CHECK_INTERVAL * earned;
        self.left += earned;
        if self.left >= CHECKS_AT_ONCE_MAX {
            (self.left, *refilled) = (CHECKS_AT_ONCE_MAX, now);
        }
        let reserved = if is_repetition { CHECKS_AT_ONCE_MAX / 2 } else { 0 };
        if self.left <= reserved {
            return None;
        }
        self.left -= 1;
        Some(self.left > CHECKS_AT_ONCE_MAX / 2)
    }
}
