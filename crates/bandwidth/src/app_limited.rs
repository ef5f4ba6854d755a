//! Whether the application sends much less than it may. Then neither delay nor loss shows the limit
//! of the path.

use std::time::Instant;

/// The share of the rate below which an application is limited by itself.
const SHARE: f64 = 0.65;
/// How much unused allowance is remembered.
const WINDOW_SECONDS: f64 = 0.5;
const ENTER: f64 = 0.8;
const LEAVE: f64 = 0.5;

/// Keeps an account of unused allowance.
#[derive(Debug, Default)]
pub(crate) struct AppLimited {
    /// Unused allowance. Shape: bits, negative when more is sent.
    unused: f64,
    at: Option<Instant>,
    limited: bool,
}

impl AppLimited {
    /// Packets left together, the first of them and the others so large, while `rate` bits per
    /// second were allowed.
    pub(crate) fn sent(&mut self, at: Instant, first: u16, others: u32, rate: f64) {
        let passed = self
            .at
            .filter(|before| *before != at)
            .map_or(0.0, |before| at.saturating_duration_since(before).as_secs_f64());
        self.at = Some(at);
        let full = SHARE * rate * WINDOW_SECONDS;
        self.add(SHARE * rate * passed - f64::from(first) * 8.0, full);
        if others > 0 {
            self.add(-f64::from(others) * 8.0, full);
        }
    }

    fn add(&mut self, bits: f64, full: f64) {
        self.unused = (self.unused + bits).clamp(-full, full);
        self.limited = self.unused > full * if self.limited { LEAVE } else { ENTER };
    }

    pub(crate) fn limited(&self) -> bool {
        self.limited
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn limited_at(share: f64) -> bool {
        let (mut app_limited, start) = (AppLimited::default(), Instant::now());
        for packet in 0..300 {
            // 1000 bytes every 10 ms are 800 kbit/s.
            app_limited.sent(start + Duration::from_millis(10 * packet), 1000, 0, 800_000.0 / share);
        }
        app_limited.limited()
    }

    #[test]
    fn half_the_rate_is_limited_and_three_quarters_are_not() {
        assert!(limited_at(0.5));
        assert!(!limited_at(0.75));
    }
}
