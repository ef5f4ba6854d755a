//! A token bucket: it refills at a rate up to a burst.

use std::time::{Duration, Instant};

/// How fast a bucket refills and how much it holds.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Tokens that come in a second.
    pub per_second: u32,
    /// The most tokens it holds.
    pub burst: u32,
}

/// The tokens left in one bucket.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    /// Full.
    pub fn new(now: Instant, rate: Rate) -> Self {
        Self {
            left: f64::from(rate.burst),
            at: now,
        }
    }

    /// Spends; false, and nothing is spent, when that is more than is left.
    pub fn take(&mut self, now: Instant, rate: Rate, cost: f64) -> bool {
        self.refill(now, rate);
        let enough = self.left >= cost;
        if enough {
            self.left -= cost;
        }
        enough
    }

    /// Spends, also what is not there: it is paid back before there is anything again.
    pub fn owe(&mut self, now: Instant, rate: Rate, cost: usize) {
        self.refill(now, rate);
        self.left -= cost as f64;
    }

    /// When there is something again; `None` when there is now.
    pub fn opens_at(&self, now: Instant, rate: Rate) -> Option<Instant> {
        let missing = -self.after_refill(now, rate);
        (missing >= 0.0).then(|| {
            let wait = (missing + 1.0) / f64::from(rate.per_second);
            now + Duration::from_secs_f64(wait)
        })
    }

    /// Whether nothing would be forgotten with it.
    pub fn is_full(&self, now: Instant, rate: Rate) -> bool {
        self.after_refill(now, rate) >= f64::from(rate.burst)
    }

    fn refill(&mut self, now: Instant, rate: Rate) {
        self.left = self.after_refill(now, rate);
        self.at = now;
    }

    fn after_refill(&self, now: Instant, rate: Rate) -> f64 {
        let refill = now.saturating_duration_since(self.at).as_secs_f64() * f64::from(rate.per_second);
        (self.left + refill).min(f64::from(rate.burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate {
        per_second: 100,
        burst: 200,
    };

    #[test]
    fn a_burst_is_fine_and_a_flood_is_not() {
        let start = Instant::now();
        let mut budget = Budget::new(start, RATE);
        assert!((0..200).all(|_| budget.take(start, RATE, 1.0)));
        assert!(!budget.take(start, RATE, 1.0));
        assert!(budget.take(start + Duration::from_millis(20), RATE, 1.0));
    }

    #[test]
    fn debts_are_paid_back_first() {
        let start = Instant::now();
        let mut budget = Budget::new(start, RATE);
        budget.owe(start, RATE, 500);
        let opens = budget.opens_at(start, RATE).expect("nothing is left");
        assert!((Duration::from_secs(3)..Duration::from_millis(3050)).contains(&(opens - start)));
        assert_eq!(budget.opens_at(opens, RATE), None);
        assert!(!budget.is_full(opens, RATE) && budget.is_full(opens + Duration::from_secs(2), RATE));
    }
}
