//! Audio quality for a listener: the measures of RFC 3550, RFC 4689 and ITU-T G.107.

use std::time::Duration;

use harness::{Arrival as Place, Histogram, Tally};
use sip::quality::{UNCONCEALED, mean_opinion_score};

use crate::phones::{Account, Arrival, INTERVAL};

/// The playout delay of a phone. A packet later than this after the call's quickest packet counts
/// as lost.
pub const PLAYOUT: Duration = Duration::from_millis(40);

/// One direction of one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Packets sent.
    pub sent: u64,
    /// Of these, how many arrived.
    pub received: u64,
    /// Repeated arrivals.
    pub duplicates: u64,
    /// First arrivals after a higher number.
    pub reordered: u64,
    /// Arrivals too late to be played.
    pub unplayed: u64,
    /// Interarrival jitter at the end (RFC 3550 section 6.4.1).
    pub jitter: Duration,
    /// The estimated score of a listener: 20 ms of packetisation, the quickest packet's delay and
    /// the playout delay one way, G.711 without concealment, lost and unplayed packets as random
    /// loss.
    pub score: f64,
}

impl Quality {
    /// Of one direction; its delays and delay variations go into the histograms as well, in
    /// nanoseconds.
    ///
    /// Variation is the difference between the delays of packets that arrive one after the other,
    /// without its sign (RFC 4689).
    pub fn of(account: &Account<'_>, delays: &mut Histogram, variations: &mut Histogram) -> Self {
        let mut tally = Tally::default();
        let mut unplayed = 0;
        let quickest = account.arrivals.iter().map(|it| it.delay_ns).min().unwrap_or(0);
        let playable = u64::from(quickest) + PLAYOUT.as_nanos() as u64;
        let first = |arrival: &&Arrival| {
            let place = tally.record(u64::from(arrival.number), false);
            place != Place::Duplicate
        };
        let mut jitter = 0.0;
        let mut last: Option<u32> = None;
        for arrival in account.arrivals.iter().filter(first) {
            delays.record(arrival.delay_ns.into());
            unplayed += u64::from(u64::from(arrival.delay_ns) > playable);
            if let Some(last) = last {
                let variation = arrival.delay_ns.abs_diff(last);
                variations.record(variation.into());
                jitter += (f64::from(variation) - jitter) / 16.0;
            }
            last = Some(arrival.delay_ns);
        }
        let window = tally.window(account.numbers.clone());
        let played = window.received.saturating_sub(unplayed);
        let loss = 1.0 - played as f64 / window.expected.max(1) as f64;
        let delay = INTERVAL + Duration::from_nanos(quickest.into()) + PLAYOUT;
        Self {
            sent: window.expected,
            received: window.received,
            duplicates: tally.duplicates(),
            reordered: tally.reordered(),
            unplayed,
            jitter: Duration::from_nanos(jitter as u64),
            score: mean_opinion_score(UNCONCEALED, delay, loss),
        }
    }

    /// The share that did not arrive.
    pub fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: std::ops::Range<u64>, arrivals: &[(u32, u32)]) -> (Quality, Histogram, Histogram) {
        let arrivals: Vec<Arrival> = arrivals
            .iter()
            .map(|&(number, delay_us)| Arrival {
                number,
                delay_ns: delay_us * 1000,
            })
            .collect();
        let account = Account {
            numbers,
            arrivals: &arrivals,
        };
        let (mut delays, mut variations) = (Histogram::default(), Histogram::default());
        (Quality::of(&account, &mut delays, &mut variations), delays, variations)
    }

    #[test]
    fn an_even_stream_is_as_good_as_it_gets() {
        let arrivals: Vec<(u32, u32)> = (100..200).map(|number| (number, 500)).collect();
        let (quality, delays, variations) = of(100..200, &arrivals);
        assert_eq!((quality.sent, quality.received, quality.loss()), (100, 100, 0.0));
        assert_eq!(
            (quality.jitter, variations.max(), delays.max()),
            (Duration::ZERO, 0, 500_000)
        );
        assert!((4.37..4.41).contains(&quality.score), "{}", quality.score);
    }

    #[test]
    fn duplicates_count_once_and_late_packets_are_not_played() {
        let arrivals = [(0, 1_000), (1, 1_000), (1, 1_500), (3, 42_000), (2, 900)];
        let (quality, delays, _) = of(0..6, &arrivals);
        assert_eq!((quality.received, quality.duplicates, quality.reordered), (4, 1, 1));
        assert_eq!((quality.unplayed, delays.count()), (1, 4));
        assert!((quality.loss() - 2.0 / 6.0).abs() < 1e-9);
        assert!(quality.score < 2.0, "half of it was heard: {}", quality.score);
    }

    #[test]
    fn jitter_follows_the_differences() {
        let arrivals: Vec<(u32, u32)> = (0..500).map(|number| (number, 1_000 + number % 2 * 160)).collect();
        let (quality, _, variations) = of(0..500, &arrivals);
        assert!(quality.jitter.abs_diff(Duration::from_micros(160)) < Duration::from_micros(1));
        assert!(variations.quantile(0.01) >= 160_000);
    }

    #[test]
    fn silence_is_a_call_that_nobody_can_use() {
        let (quality, ..) = of(0..50, &[]);
        assert_eq!((quality.loss(), quality.score), (1.0, 1.0));
    }
}
