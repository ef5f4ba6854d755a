//! Capacity of a path before it became narrow.

use std::time::{Duration, Instant};

/// Looked at are the span under way and the one before, each of this length.
const SPAN: Duration = Duration::from_millis(400);

/// The most that arrived lately.
#[derive(Debug, Default)]
pub(crate) struct RecentCapacity {
    began: Option<Instant>,
    before: f64,
    now: f64,
}

impl RecentCapacity {
    /// Records a received rate. Shape: bits per second.
    pub(crate) fn report(&mut self, now: Instant, rate: f64) {
        let began = *self.began.get_or_insert(now);
        if now.saturating_duration_since(began) >= SPAN {
            self.began = Some(now);
            (self.before, self.now) = (self.now, 0.0);
        }
        self.now = self.now.max(rate);
    }

    pub(crate) fn most(&self) -> f64 {
        self.before.max(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn it_forgets_after_two_spans() {
        let (mut recent, start) = (RecentCapacity::default(), Instant::now());
        let mut most = |millis, rate| {
            recent.report(start + Duration::from_millis(millis), rate);
            recent.most()
        };
        assert_eq!(
            [most(0, 2e6), most(300, 1e6), most(500, 1e6), most(950, 1e6)],
            [2e6, 2e6, 2e6, 1e6]
        );
    }
}
