//! Relays that an offload refused because it did not answer, and that it is offered again.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{Refused, Relay};

use crate::limits::AGAIN;

/// The relays that one offload refused as gone, with their newest values.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    relays: BTreeMap<SocketAddr, Box<Relay>>,
    /// When the first of them was refused.
    since: Option<Instant>,
}

impl Gone {
    /// The offload has refused a relay for this reason.
    pub(crate) fn refused(&mut self, now: Instant, at: SocketAddr, relay: &Relay, why: Refused) {
        if why == Refused::Gone {
            self.since.get_or_insert(now);
            self.relays.insert(at, Box::new(relay.clone()));
        }
    }

    /// A relay has another value, or is removed.
    pub(crate) fn forget(&mut self, at: SocketAddr) {
        self.relays.remove(&at);
        if self.relays.is_empty() {
            self.since = None;
        }
    }

    /// The relays to be offered again, if the offload answers.
    pub(crate) fn due(&mut self, now: Instant, answers: bool) -> BTreeMap<SocketAddr, Box<Relay>> {
        let is_due = |since: Instant| now.saturating_duration_since(since) >= AGAIN;
        if !self.since.is_some_and(is_due) || !answers {
            return BTreeMap::new();
        }
        self.since = None;
        std::mem::take(&mut self.relays)
    }
}
