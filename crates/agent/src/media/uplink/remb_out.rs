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
//! The estimates of the best receiver may be forwarded by a device instead
//! ([`Proxied`](crate::Feedback::Proxied)). That is correct only if they are about this publisher
//! alone.
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
    /// Whether the receiver reported it itself (REMB), and about this publisher alone.
    is_whole: bool,
    at: Instant,
}

/// The receiver with the best downlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Best {
    pub(super) receiver: TransportId,
    /// Shape: bits per second.
    pub(super) rate: u64,
    /// Whether its own report says the same to this publisher.
    pub(super) is_whole: bool,
}

impl RembOut {
    /// A receiver can take `rate` of it. `is_whole` if that is its own report, about nobody else.
    pub(super) fn said(&mut self, now: Instant, receiver: TransportId, rate: u64, is_whole: bool) {
        let rate = rate as f64;
        let first = Smoothed {
            rate,
            is_whole,
            at: now,
        };
        let smoothed = self.0.entry(receiver).or_insert(first);
        let passed = now.saturating_duration_since(smoothed.at);
        let weight = (-passed.as_secs_f64() / SMOOTHING.as_secs_f64()).exp();
        *smoothed = Smoothed {
            rate: rate + (smoothed.rate - rate) * weight,
            is_whole,
            at: now,
        };
    }

    /// The best receiver, while any reports an estimate.
    pub(super) fn best(&mut self, now: Instant) -> Option<Best> {
        self.0
            .retain(|_, smoothed| now.saturating_duration_since(smoothed.at) <= FRESH);
        let all = self.0.iter().map(|(receiver, smoothed)| Best {
            receiver: *receiver,
            rate: smoothed.rate as u64,
            is_whole: smoothed.is_whole,
        });
        all.max_by_key(|best| best.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TransportId = TransportId(1);
    const B: TransportId = TransportId(2);

    fn rate(remb_out: &mut RembOut, now: Instant) -> Option<u64> {
        remb_out.best(now).map(|best| best.rate)
    }

    #[test]
    fn the_best_downlink_counts_and_the_others_do_not() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        let mut now = start;
        for _ in 0..10 {
            remb_out.said(now, A, 0, true);
            remb_out.said(now, B, 2_000_000, true);
            now += Duration::from_secs(1);
        }
        assert_eq!(rate(&mut remb_out, now), Some(2_000_000));
    }

    #[test]
    fn one_estimate_among_others_is_smoothed_however_often_it_is_said() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        remb_out.said(start, A, 1_000_000, true);
        (0..100).for_each(|_| remb_out.said(start, A, 100_000, true));
        assert_eq!(rate(&mut remb_out, start), Some(1_000_000));
        let later = start + SMOOTHING;
        remb_out.said(later, A, 100_000, true);
        let rate = remb_out.best(later).unwrap().rate;
        assert!((425_000..440_000).contains(&rate), "{rate}");
    }

    #[test]
    fn a_silent_receiver_counts_no_more() {
        let (mut remb_out, start) = (RembOut::default(), Instant::now());
        remb_out.said(start, A, 3_000_000, true);
        remb_out.said(start + FRESH, B, 1_000_000, true);
        assert_eq!(rate(&mut remb_out, start + FRESH), Some(3_000_000));
        assert_eq!(
            rate(&mut remb_out, start + FRESH + Duration::from_millis(1)),
            Some(1_000_000)
        );
        assert_eq!(rate(&mut remb_out, start + 3 * FRESH), None);
    }
}
