//! REMB for publishers without encryption: the capacity of the best of their receivers' downlinks.
//!
//! Such a publisher should send as much as its own uplink and the best downlink carry; layers are
//! dropped for slower receivers. So the estimates of all receivers of its streams are smoothed, and
//! the highest is reported. One estimate that is too low, for whatever reason, limits nobody else.
//! Transport-wide sequence numbers tell a publisher more. If they are negotiated, no REMB is sent.
//!
//! A receiver estimates the rate of all publishers together, or it reports arrived packets and the
//! estimate is made here. One publisher's part is the remainder after the others' streams, but at
//! least an equal share.
//!
//! A simulcast publisher gets no REMB: the layer that fits is selected here, and layers without
//! receivers are stopped. A lower total would make it drop the largest layer before any receiver
//! could have found room for it.
//!
//! Source: Scallop section 5.3; draft-alvestrand-rmcat-remb-03.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use southbound::TransportId;

/// Age at which a replaced estimate has weight 1/e.
const SMOOTHING: Duration = Duration::from_secs(1);

/// Receivers repeat an estimate every second while anything arrives.
const FRESH: Duration = Duration::from_secs(5);

/// The estimates of the receivers of one publisher's streams.
#[derive(Debug, Default)]
pub(super) struct RembOut(BTreeMap<TransportId, Smoothed>);

#[derive(Clone, Copy, Debug)]
struct Smoothed {
    /// Shape: bits per second.
    rate: f64,
    at: Instant,
}

impl RembOut {
    /// A receiver can take `rate` of it.
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

    /// The rate of the best receiver, while any reports one.
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
