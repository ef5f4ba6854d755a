//! Reports of a downlink's estimate for timelines: of changes that matter, and now and then.

use std::time::{Duration, Instant};

use operator::receivers::{Limit, Usage};
use southbound::DownlinkEstimate;

use super::downlink_budget::{Budget, CONGESTED};
use crate::receivers;

/// An estimate that does not change is reported so often.
const INTERVAL: Duration = Duration::from_secs(10);

/// A rate that changes by this part is reported.
const STEP: f64 = 0.1;

/// A loss that changes by so much is reported.
const LOSS_STEP: f32 = 0.02;

/// The reports of one downlink's estimate.
#[derive(Debug, Default)]
pub(super) struct EstimateReports {
    last: Option<(Instant, DownlinkEstimate)>,
}

impl EstimateReports {
    /// The estimate, if it is to be reported now. An estimate without evidence is none.
    pub(super) fn due(&mut self, now: Instant, budget: &Budget) -> Option<DownlinkEstimate> {
        if !budget.reports() {
            return None;
        }
        let estimate = view(budget);
        let is_due = self
            .last
            .is_none_or(|(at, last)| now.saturating_duration_since(at) >= INTERVAL || differs(&last, &estimate));
        is_due.then(|| self.last.insert((now, estimate)).1)
    }
}

fn view(budget: &Budget) -> DownlinkEstimate {
    let state = budget.state();
    DownlinkEstimate {
        target: state.estimate.target,
        allocated: state.allocated,
        wanted: state.wanted,
        limit: receivers::limit(state.estimate.limit),
        usage: receivers::usage(state.estimate.usage),
        loss: (state.estimate.loss as f32).clamp(0.0, 1.0),
        round_trip: state.estimate.round_trip,
        queue: state.estimate.queue,
    }
}

fn differs(last: &DownlinkEstimate, now: &DownlinkEstimate) -> bool {
    let rates = |estimate: &DownlinkEstimate| [estimate.target, estimate.allocated, estimate.wanted];
    let moved = |(last, now): (u64, u64)| last.abs_diff(now) as f64 > last as f64 * STEP;
    let words = |estimate: &DownlinkEstimate| -> (Limit, bool, bool) {
        let is_over = estimate.usage == Usage::Over;
        (estimate.limit, is_over, estimate.queue >= CONGESTED)
    };
    rates(last).into_iter().zip(rates(now)).any(moved)
        || (last.loss - now.loss).abs() >= LOSS_STEP
        || words(last) != words(now)
}
