//! The requests for key frames that one stream has had.

use std::time::{Duration, Instant};

/// Between two requests to one stream.
pub(super) const INTERVAL: Duration = Duration::from_millis(500);

/// Between repetitions, once the first have not helped.
const INTERVAL_LATER: Duration = Duration::from_secs(1);

/// Interval while the node itself loses packets: key frames for all damaged videos would add much
/// to its load.
pub(super) const INTERVAL_OVERLOADED: Duration = Duration::from_secs(3);

/// After this many repetitions the interval grows.
const QUICK: u32 = 3;

/// After this many, none of them of use to a receiver, requests stop until the stream stops and
/// starts again: asking does not help.
const REPETITIONS_MAX: u32 = 30;

/// The requests to one stream.
#[derive(Debug, Default)]
pub(super) struct KeyFrames {
    asked: Option<Instant>,
    /// A receiver cannot use the key frame of the last request.
    needs_another: bool,
    repetitions: u32,
}

impl KeyFrames {
    /// Whether it may be asked at `now`, else when.
    pub(super) fn may_ask(&self, now: Instant) -> Result<(), Instant> {
        let earliest = self.asked.map(|asked| asked + INTERVAL);
        earliest.filter(|earliest| *earliest > now).map_or(Ok(()), Err)
    }

    /// The stream started, perhaps again, or a receiver got a key frame of it: past failures do not
    /// count.
    pub(super) fn restart(&mut self) {
        self.repetitions = 0;
    }

    /// Whether the last request was less than this time ago.
    pub(super) fn asked_within(&self, now: Instant, time: Duration) -> bool {
        self.asked.is_some_and(|asked| asked + time > now)
    }

    /// Whether there was a request.
    pub(super) fn was_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// Another request is made as soon as it may be, even if no receiver waits then.
    pub(super) fn need_another(&mut self) {
        self.needs_another = true;
    }

    /// Counts a repetition, or none while nobody waits. Returns whether to ask again.
    pub(super) fn repeat(&mut self, is_awaited: bool) -> bool {
        self.repetitions = if is_awaited { self.repetitions + 1 } else { 0 };
        self.needs_another || (1..=REPETITIONS_MAX).contains(&self.repetitions)
    }

    /// How often it was asked without a use for a receiver, the next time included.
    pub(super) fn attempt(&self) -> u32 {
        self.repetitions + 1
    }

    /// Notes a request. Returns when to repeat it.
    pub(super) fn asked(&mut self, now: Instant) -> Instant {
        (self.asked, self.needs_another) = (Some(now), false);
        let interval = if self.repetitions < QUICK {
            INTERVAL
        } else {
            INTERVAL_LATER
        };
        now + interval
    }
}
