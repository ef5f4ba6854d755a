//! How much one connection may say.

use std::time::Instant;

use controller::{Budget, Rate};

use crate::frame::Frame;
use crate::limits::{MESSAGE_UNIT, MESSAGES_BURST, MESSAGES_PER_SECOND};

const RATE: Rate = Rate {
    per_second: MESSAGES_PER_SECOND,
    burst: MESSAGES_BURST,
};

/// The messages that a connection has left.
#[derive(Debug)]
pub(crate) struct MessageBudget(Budget);

impl MessageBudget {
    /// Full.
    pub(crate) fn new(now: Instant) -> Self {
        Self(Budget::new(now, RATE))
    }

    /// Spends for a frame; false when that is more than is left. Large messages take longer to
    /// read, and cost more.
    pub(crate) fn take_frame(&mut self, now: Instant, frame: &Frame) -> bool {
        self.take(now, 1.0 + frame.len() as f64 / MESSAGE_UNIT as f64)
    }

    /// Spends as much as so many messages; false when that is more than is left.
    pub(crate) fn take(&mut self, now: Instant, messages: f64) -> bool {
        self.0.take(now, RATE, messages)
    }
}
