//! The lease of this controller, which everything that it writes is bound to.

use std::time::{Duration, Instant};

/// The lease, as far as this controller knows.
#[derive(Debug)]
pub(crate) struct Lease {
    term: Duration,
    /// The store has confirmed it until then, by this controller's own clock: counted from the
    /// request and not from the answer.
    held_until: Option<Instant>,
    /// It exists at the store, as far as is known.
    is_granted: bool,
    /// When the request under way was sent.
    asked: Option<Instant>,
    /// When to ask the store next.
    due: Instant,
}

/// The next request about the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseRequest {
    Grant,
    KeepAlive,
}

impl Lease {
    pub(crate) fn new(now: Instant, term: Duration) -> Self {
        Self {
            term,
            held_until: None,
            is_granted: false,
            asked: None,
            due: now,
        }
    }

    /// Whether the store has confirmed it, with a tenth of the term to spare: clocks drift.
    pub(crate) fn is_held(&self, now: Instant) -> bool {
        self.held_until.is_some_and(|until| now + self.term / 10 < until)
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.asked.is_none().then_some(self.due)
    }

    /// The request to make now, if one is due.
    pub(crate) fn ask(&mut self, now: Instant) -> Option<LeaseRequest> {
        if self.asked.is_some() || self.due > now {
            return None;
        }
        self.asked = Some(now);
        Some(match self.is_granted {
            true => LeaseRequest::KeepAlive,
            false => LeaseRequest::Grant,
        })
    }

    /// The store has granted or kept it. Returns whether it is a new one.
    pub(crate) fn confirmed(&mut self, now: Instant) -> bool {
        let asked = self.asked.take().unwrap_or(now);
        self.held_until = Some(asked + self.term);
        self.due = asked + self.term / 3;
        !std::mem::replace(&mut self.is_granted, true)
    }

    /// The store was not reached.
    pub(crate) fn failed(&mut self, now: Instant, retry: Duration) {
        self.asked = None;
        self.due = now + retry.min(self.term / 3);
    }

    /// The store does not have it any more. Returns whether that is news.
    pub(crate) fn lost(&mut self, now: Instant) -> bool {
        (self.asked, self.held_until, self.due) = (None, None, now);
        std::mem::replace(&mut self.is_granted, false)
    }
}
