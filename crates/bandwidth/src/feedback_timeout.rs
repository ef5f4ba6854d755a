//! A receiver that has ceased to report.

use std::time::{Duration, Instant};

/// Time without a report after which a receiver of packets counts as silent.
const TIMEOUT: Duration = Duration::from_millis(1500);

/// Whether the receiver still reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedbackTimeout {
    /// No report is due: all packets were reported on, or this receiver never reports.
    Idle,
    /// Packets were sent, the last of them at `sent`, and there was no report since `since`.
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

    /// Whether the silence has lasted another period, so that less is to be sent.
    pub(crate) fn has_lasted(&mut self, now: Instant) -> bool {
        let FeedbackTimeout::Waiting { since, sent } = *self else {
            return false;
        };
        if now < since + TIMEOUT {
            return false;
        }
        // If no packet was sent either, only one last report is missing.
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
