//! A receiver that has ceased to report.

use std::time::{Duration, Instant};

/// How long a receiver of packets may say nothing.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// Whether the receiver still reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedbackTimeout {
    /// Nothing is waited for: all is answered, or this receiver never reports.
    Idle,
    /// Packets left, the last of them at `sent`, and nothing was said since this time.
    Waiting { since: Instant, sent: Instant },
}

impl FeedbackTimeout {
    /// Packets left that are to be reported on.
    pub(crate) fn waits_for(&mut self, first: Instant, last: Instant) {
        let since = match *self {
            FeedbackTimeout::Waiting { since, .. } => since,
            FeedbackTimeout::Idle => first,
        };
        *self = FeedbackTimeout::Waiting { since, sent: last };
    }

    /// Whether it has lasted for so long again that less is to be sent.
    pub(crate) fn has_lasted(&mut self, now: Instant) -> bool {
        let FeedbackTimeout::Waiting { since, sent } = *self else {
            return false;
        };
        if now < since + TIMEOUT {
            return false;
        }
        // If nothing was sent either, what is missing is one last report.
        let is_due = now < sent + TIMEOUT;
        *self = match is_due {
            true => FeedbackTimeout::Waiting { since: now, sent },
            false => FeedbackTimeout::Idle,
        };
        is_due
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            FeedbackTimeout::Idle => None,
            FeedbackTimeout::Waiting { since, .. } => Some(*since + TIMEOUT),
        }
    }
}
