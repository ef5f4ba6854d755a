//! One signalling connection and how much it may say.

use std::time::Instant;

use crate::budget::{Budget, Rate};
use crate::context::Place;
use crate::limits::{MESSAGE_UNIT, MESSAGES_BURST, MESSAGES_PER_SECOND};

const RATE: Rate = Rate {
    per_second: MESSAGES_PER_SECOND,
    burst: MESSAGES_BURST,
};

/// One signalling connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Whose it is.
    pub(crate) place: Place,
    budget: Budget,
}

impl Connection {
    pub(crate) fn new(now: Instant, place: Place) -> Self {
        Self {
            place,
            budget: Budget::new(now, RATE),
        }
    }

    /// Whether it may send a message of this size, in bytes. Large messages take longer to read.
    pub(crate) fn may_say(&mut self, now: Instant, len: usize) -> bool {
        self.budget.take(now, RATE, 1.0 + len as f64 / MESSAGE_UNIT as f64)
    }
}
