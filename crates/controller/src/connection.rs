//! One signalling connection and how much it may say.

use std::time::Instant;

use crate::context::Place;
use crate::limits::{MESSAGE_UNIT, MESSAGES_BURST, MESSAGES_PER_SECOND};

/// One signalling connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Whose it is.
    pub(crate) place: Place,
    pub(crate) budget: Budget,
}

impl Connection {
    pub(crate) fn new(now: Instant, place: Place) -> Self {
        Self {
            place,
            budget: Budget {
                left: f64::from(MESSAGES_BURST),
                at: now,
            },
        }
    }
}

/// Messages a connection may still send: a bucket that refills.
#[derive(Debug)]
pub(crate) struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    /// Spends what a message of this size costs, in bytes; false when that is more than is left. Large messages take longer to read.
    pub(crate) fn take(&mut self, now: Instant, len: usize) -> bool {
        let cost = 1.0 + len as f64 / MESSAGE_UNIT as f64;
        let refill = now.saturating_duration_since(self.at).as_secs_f64() * f64::from(MESSAGES_PER_SECOND);
        self.left = (self.left + refill).min(f64::from(MESSAGES_BURST));
        self.at = now;
        let enough = self.left >= cost;
        if enough {
            self.left -= cost;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_fine_and_a_flood_is_not() {
        let start = Instant::now();
        let mut budget = Budget {
            left: f64::from(MESSAGES_BURST),
            at: start,
        };
        assert!((0..MESSAGES_BURST).all(|_| budget.take(start, 0)));
        assert!(!budget.take(start, 0));
        assert!(budget.take(start + Duration::from_millis(10), 0));
    }
}
