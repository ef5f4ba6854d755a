//! What publishers without encryption are told that their receivers' downlinks carry: what the best
//! one does (REMB).
//!
//! Such a publisher should send as much as its own uplink and the best downlink carry; for those
//! who can take less, layers are left out on the way. So the estimates of all who get its streams
//! are smoothed, and the highest goes on: one that is too low, whatever the reason, holds nobody
//! else back. Packets with transport-wide numbers tell a publisher more, and where they are
//! negotiated this says nothing.
//!
//! A receiver estimates what it gets of all publishers together, or reports which packets arrived
//! and it is estimated here. One publisher's part is what the others' streams leave, and never less
//! than an equal share.
//!
//! Who sends a camera in several sizes is told nothing: which of them fits is chosen here, and
//! those that nobody gets are stopped. With less for all sizes together, the largest would be gone
//! before anyone could have found room for it.
//!
//! Source: Scallop section 5.3; draft-alvestrand-rmcat-remb-03.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use southbound::TransportId;

/// An estimate that was replaced so long ago weighs 1/e.
const SMOOTHING: Duration = Duration::from_secs(1);

/// Receivers repeat an estimate every second while anything arrives.
const FRESH: Duration = Duration::from_secs(5);

/// The estimates of those who get one publisher's streams.
#[derive(Debug, Default)]
pub(super) struct RembOut(BTreeMap<TransportId, Smoothed>);

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    /// Shape: bits per second.
    rate: f64,
    at: Instant,
}

impl RembOut {
    /// A receiver can take so much of it.
    pub(super) fn said(&mut self, now: Instant, receiver: TransportId, rate: u64) {
        let rate = rate as f64;
        let smoothed = self.0.entry(receiver).or_insert(Smoothed { rate, at: now });
        let passed = now.saturating_duration_since(smoothed.at);
        let weight = (-passed.as_secs_f64() / SMOOTHING.as_secs_f64()).exp();
        *smoothed = Smoothed {
            rate: rate + (smoothed.rate - rate) * weight,
            at: now,
        };
    }

    /// What the best of them can take, while any says so.
    pub(super) fn rate(&mut self, now: Instant) -> Option<u64> {
        self.0
            .retain(|_, smoothed| now.saturating_duration_since(smoothed.at) <= FRESH);
        let rates = self.0.values().map(|smoothed| smoothed.rate as u64);
        rates.max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TransportId = TransportId(1);
    const B: TransportId = TransportId(2);

    #[test]
    fn the_best_downlink_counts_and_the_others_do_not() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        let mut now = start;
        for _ in 0..10 {
            remb_out.said(now, A, 0);
            remb_out.said(now, B, 2_000_000);
            now += Duration::from_secs(1);
        }
        assert_eq!(remb_out.rate(now), Some(2_000_000));
    }

    #[test]
    fn one_estimate_among_others_is_smoothed_however_often_it_is_said() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        remb_out.said(start, A, 1_000_000);
        (0..100).for_each(|_| remb_out.said(start, A, 100_000));
        assert_eq!(remb_out.rate(start), Some(1_000_000));
        let later = start + SMOOTHING;
        remb_out.said(later, A, 100_000);
        let rate = remb_out.rate(later).unwrap();
        assert!((425_000..440_000).contains(&rate), "{rate}");
    }

    #[test]
    fn a_silent_receiver_counts_no_more() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        remb_out.said(start, A, 3_000_000);
        remb_out.said(start + FRESH, B, 1_000_000);
        assert_eq!(remb_out.rate(start + FRESH), Some(3_000_000));
        assert_eq!(remb_out.rate(start + FRESH + Duration::from_millis(1)), Some(1_000_000));
        assert_eq!(remb_out.rate(start + 3 * FRESH), None);
    }
}
