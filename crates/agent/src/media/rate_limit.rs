//! Rate limits for the work that one peer may cause.

use std::time::{Duration, Instant};

/// Counts admitted cost since a window began; the next window begins with the first request after
/// it.
#[derive(Debug)]
pub(in crate::media) struct RateLimit {
    limit: u32,
    window: Duration,
    began: Option<Instant>,
    used: u32,
}

impl RateLimit {
    pub(in crate::media) const fn new(limit: u32, window: Duration) -> Self {
        RateLimit {
            limit,
            window,
            began: None,
            used: 0,
        }
    }

    /// Whether work of this cost is admitted now.
    pub(in crate::media) fn admit(&mut self, now: Instant, cost: u32) -> bool {
        self.admit_up_to(now, cost, self.limit)
    }

    /// Whether no more would be admitted now under this limit.
    pub(in crate::media) fn is_used_up(&self, now: Instant, limit: u32) -> bool {
        self.used >= limit && self.is_open(now)
    }

    fn is_open(&self, now: Instant) -> bool {
        let within = |began: Instant| now.saturating_duration_since(began) < self.window;
        self.began.is_some_and(within)
    }

    /// When the next window may begin, if none does before.
    pub(in crate::media) fn reopens(&self, now: Instant) -> Instant {
        let end = self.began.map(|began| began + self.window);
        end.filter(|end| *end > now).unwrap_or(now + self.window)
    }

    /// The same as [`admit`](Self::admit) with another limit.
    pub(in crate::media) fn admit_up_to(&mut self, now: Instant, cost: u32, limit: u32) -> bool {
        if !self.is_open(now) {
            (self.began, self.used) = (Some(now), 0);
        }
        let admitted = self.used < limit;
        self.used = self.used.saturating_add(cost);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_window_restores_the_limit() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut rate_limit = RateLimit::new(10, second);
        assert!(rate_limit.admit(start, 9));
        assert!(rate_limit.admit(start, 100), "one that is begun is finished");
        assert!(!rate_limit.admit(start + second / 2, 1));
        assert!(rate_limit.is_used_up(start + second / 2, 10) && !rate_limit.is_used_up(start + second, 10));
        assert!(rate_limit.admit(start + second, 1));
    }
}
