//! What arrives, from the receiver's own times.

use std::collections::VecDeque;

use crate::limits::ARRIVALS_MAX;

/// Arrivals older than this are forgotten. Shape: microseconds, as all times here.
const KEPT: i64 = 1_000_000;
/// Long enough to even out frames.
const WINDOW: i64 = 500_000;
/// Short enough to be all from after a sudden change.
const BURST_WINDOW: i64 = 250_000;
/// Fewer packets say nothing.
const PACKETS_MIN: usize = 5;
/// A step so far back or ahead is a clock that jumped.
const JUMP: i64 = 3_000_000;

/// Measures throughput.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// Arrival and size, by arrival.
    arrivals: VecDeque<(i64, u16)>,
}

impl Acknowledged {
    pub(crate) fn arrived(&mut self, at: i64, size: u16) {
        let newest = self.arrivals.back().map_or(at, |back| back.0);
        if at.abs_diff(newest) > JUMP as u64 {
            self.arrivals.clear();
        }
        let place = self
            .arrivals
            .iter()
            .rposition(|other| other.0 <= at)
            .map_or(0, |index| index + 1);
        self.arrivals.insert(place, (at, size));
        while self.arrivals.len() > ARRIVALS_MAX || self.arrivals.front().is_some_and(|front| front.0 < newest - KEPT) {
            self.arrivals.pop_front();
        }
    }

    /// What arrives, evened out over frames. Shape: bits per second.
    pub(crate) fn rate(&self) -> Option<f64> {
        let newest = self.arrivals.back()?.0;
        if self.arrivals.front()?.0 > newest - WINDOW {
            return self.dispersion(WINDOW);
        }
        let bytes: u64 = self.since(newest - WINDOW).map(|(_, size)| u64::from(size)).sum();
        Some(bytes as f64 * 8e6 / WINDOW as f64)
    }

    /// What a busy link carried a moment ago: the bytes after the first packet over the time they took. Shape: bits per second.
    pub(crate) fn burst_rate(&self) -> Option<f64> {
        self.dispersion(BURST_WINDOW)
    }

    fn dispersion(&self, window: i64) -> Option<f64> {
        let newest = self.arrivals.back()?.0;
        let mut within = self.since(newest - window);
        let oldest = within.next()?.0;
        let (count, bytes) = within.fold((1, 0u64), |(count, bytes), (_, size)| {
            (count + 1, bytes + u64::from(size))
        });
        // Over less than a fifth of the window, one frame would be taken for the rate.
        let long = newest - oldest >= window / 5;
        (count >= PACKETS_MIN && long).then(|| bytes as f64 * 8e6 / (newest - oldest) as f64)
    }

    fn since(&self, after: i64) -> impl Iterator<Item = (i64, u16)> {
        let start = self.arrivals.partition_point(|arrival| arrival.0 <= after);
        self.arrivals.range(start..).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_stream_is_measured() {
        let mut acknowledged = Acknowledged::default();
        for packet in 0..200 {
            acknowledged.arrived(packet * 10_000, 1250);
        }
        assert_eq!(acknowledged.rate(), Some(1e6));
        assert_eq!(acknowledged.burst_rate(), Some(1e6));
    }

    #[test]
    fn a_jump_starts_over() {
        let mut acknowledged = Acknowledged::default();
        for packet in 0..200 {
            acknowledged.arrived(packet * 10_000, 1250);
        }
        acknowledged.arrived(i64::MAX / 2, 1250);
        assert_eq!(acknowledged.rate(), None);
    }
}
