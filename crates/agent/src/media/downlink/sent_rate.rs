//! How fast one copy of a track is sent.

use std::time::Instant;

/// The sent rate of one replica, from the data plane's counts.
#[derive(Debug, Default)]
pub(super) struct SentRate {
    octets: u64,
    at: Option<Instant>,
    /// Shape: bits per second.
    rate: u64,
}

impl SentRate {
    /// Adds the packets sent up to now.
    pub(super) fn follow(&mut self, now: Instant, octets: u64) {
        let new = octets.saturating_sub(self.octets);
        self.octets = octets;
        let Some(before) = self.at.replace(now) else { return };
        let passed = now.saturating_duration_since(before).as_secs_f64();
        if passed > 0.0 {
            self.rate = (8.0 * new as f64 / passed) as u64;
        }
    }

    /// Shape: bits per second.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }
}
