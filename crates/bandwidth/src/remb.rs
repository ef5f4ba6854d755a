//! The receiver's own estimate.

use std::time::{Duration, Instant};

/// Receivers repeat it every second. Beside feedback of our own an old one is forgotten; alone it
/// is all there is.
const FRESH: Duration = Duration::from_secs(5);

/// The newest estimate of the receiver's.
#[derive(Debug, Default)]
pub(crate) struct Remb {
    newest: Option<(Instant, f64)>,
}

impl Remb {
    pub(crate) fn received(&mut self, now: Instant, bits_per_second: u64) {
        self.newest = Some((now, bits_per_second as f64));
    }

    pub(crate) fn newest(&self) -> Option<f64> {
        self.newest.map(|(_, rate)| rate)
    }

    pub(crate) fn fresh(&self, now: Instant) -> Option<f64> {
        self.newest
            .filter(|(at, _)| now.saturating_duration_since(*at) <= FRESH)
            .map(|(_, rate)| rate)
    }
}
