//! Reports of observations to the controller, a bounded number in each second.

use std::time::Duration;

use southbound::{Notice, Observation};

use crate::context::Context;
use crate::counters::Counter;
use crate::limits::OBSERVATIONS_PER_SECOND_MAX;
use crate::media::rate_limit::RateLimit;

/// Reports the observations of one kind and one subject.
#[derive(Debug)]
pub(in crate::media) struct Observer(RateLimit);

impl Default for Observer {
    fn default() -> Self {
        Observer(RateLimit::new(OBSERVATIONS_PER_SECOND_MAX, Duration::from_secs(1)))
    }
}

impl Observer {
    /// Reports an observation, or counts it if there were too many in this second.
    pub(in crate::media) fn report(&mut self, cx: &mut Context<'_>, observation: Observation) {
        match self.0.admit(cx.now, 1) {
            true => cx.notice(Notice::Observation(observation)),
            false => cx.count(Counter::ObservationLost),
        }
    }
}
