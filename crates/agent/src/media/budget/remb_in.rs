//! Turns a receiver's own estimates (REMB) into a capacity of its downlink.
//!
//! A REMB is about the streams that it names, which may be only one of many: some receivers send
//! one for each track, and none that covers audio. Its value grows only with the received rate. So
//! it is a limit only if it is below the received rate and not rising. Otherwise nothing limits,
//! and a little more is tried.

use std::time::{Duration, Instant};

use southbound::SubscriptionId;

/// Receivers repeat an estimate every second while anything arrives. An older one is of streams
/// that are no longer sent.
const FRESH: Duration = Duration::from_secs(5);

/// The initial estimate. A receiver that was always sent everything should not get less until it
/// reports congestion.
const START: f64 = 2e6;

/// An estimate below this part of the sent rate is a limit. Receivers that see congestion estimate
/// 0.85 of the received rate.
const LIMITS: f64 = 0.9;

/// Overhead that receivers may leave out of their estimate for each stream: headers, at fifty
/// packets a second.
const HEADERS: u64 = 16_000;

/// Growth per second while nothing limits, like that of receivers.
const GROWTH: f64 = 1.08;

/// A transport's receiver-side estimates.
#[derive(Debug)]
pub(super) struct RembIn {
    /// No two of them are about the same stream.
    shares: Vec<Share>,
    /// Shape: bits per second.
    rate: f64,
    at: Option<Instant>,
}

#[derive(Debug)]
struct Share {
    streams: Vec<SubscriptionId>,
    at: Instant,
    rate: u64,
    /// Whether it was less before.
    rises: bool,
}

impl Share {
    fn is_about(&self, stream: SubscriptionId) -> bool {
        self.streams.binary_search(&stream).is_ok()
    }

    /// The rate that may be sent of its streams, while `sent` is sent.
    fn allows(&self, sent: u64) -> u64 {
        let said = self.rate.saturating_add(HEADERS * self.streams.len() as u64);
        match self.rises {
            true => said.max(sent),
            false => said,
        }
    }
}

impl RembIn {
    pub(super) fn new() -> Self {
        RembIn {
            shares: Vec::new(),
            rate: START,
            at: None,
        }
    }

    /// The receiver estimates `rate` for these streams together.
    pub(super) fn said(&mut self, now: Instant, mut streams: Vec<SubscriptionId>, rate: u64) {
        streams.sort_unstable();
        streams.dedup();
        let mut before = None;
        self.shares.retain(|share| {
            let is_replaced = streams.iter().any(|stream| share.is_about(*stream));
            if is_replaced {
                before = Some(share.rate.saturating_add(before.unwrap_or(0)));
            }
            !is_replaced
        });
        self.shares.push(Share {
            streams,
            at: now,
            rate,
            rises: before.is_some_and(|before| rate > before),
        });
    }

    /// The estimate to use, while `sent` is sent of each stream and `wanted` is useful in all.
    /// Shape: `sent` in the order of its streams.
    pub(super) fn rate(&mut self, now: Instant, sent: &[(SubscriptionId, u64)], wanted: u64) -> u64 {
        self.shares
            .retain(|share| now.saturating_duration_since(share.at) <= FRESH);
        let sent_of = |stream: &SubscriptionId| {
            let found = sent.binary_search_by_key(stream, |(id, _)| *id);
            found.map_or(0, |place| sent[place].1)
        };
        let (mut named, mut said) = (0, 0_u64);
        for share in &self.shares {
            let of_it = share.streams.iter().map(sent_of).sum();
            named += of_it;
            said = said.saturating_add(share.allows(of_it));
        }
        let others = sent.iter().map(|(_, rate)| rate).sum::<u64>() - named;
        let passed = self
            .at
            .replace(now)
            .map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        if (said as f64) < LIMITS * named as f64 {
            self.rate = said.saturating_add(others) as f64;
        } else {
            let proven = said.max(named).saturating_add(others) as f64;
            let is_of_use = self.rate < wanted as f64;
            let growth = if is_of_use {
                GROWTH.powf(passed.as_secs_f64())
            } else {
                1.0
            };
            self.rate = (self.rate * growth).max(proven);
        }
        self.rate as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SubscriptionId = SubscriptionId(1);
    const B: SubscriptionId = SubscriptionId(2);
    const SOUND: SubscriptionId = SubscriptionId(3);
    const WANTED: u64 = 5_000_000;

    #[allow(clippy::disallowed_methods, reason = "tests read a clock")]
    fn begun() -> (RembIn, Instant) {
        (RembIn::new(), Instant::now())
    }

    #[test]
    fn estimates_of_different_streams_add_up_and_others_come_on_top() {
        let (mut remb_in, now) = begun();
        let sent = [(A, 1_000_000), (B, 1_000_000), (SOUND, 100_000)];
        remb_in.said(now, vec![A], 500_000);
        remb_in.said(now, vec![B], 300_000);
        let limited = 800_000 + 2 * HEADERS + 100_000;
        assert_eq!(remb_in.rate(now, &sent, WANTED), limited);
        remb_in.said(now, vec![A, B], 700_000);
        assert_eq!(remb_in.rate(now, &sent, WANTED), limited - 100_000);
    }

    #[test]
    fn an_estimate_that_only_follows_the_sent_rate_limits_nothing() {
        let (mut remb_in, mut now) = begun();
        for _ in 0..10 {
            now += Duration::from_secs(1);
            remb_in.said(now, vec![A], 95_000);
            assert!(remb_in.rate(now, &[(A, 100_000)], WANTED) >= START as u64);
        }
    }

    #[test]
    fn an_estimate_that_rises_after_a_step_is_waited_for() {
        let (mut remb_in, mut now) = begun();
        remb_in.said(now, vec![A], 400_000);
        assert_eq!(remb_in.rate(now, &[(A, 600_000)], WANTED), 400_000 + HEADERS);
        for rate in [420_000, 440_000, 460_000] {
            now += Duration::from_secs(1);
            remb_in.said(now, vec![A], rate);
            assert!(remb_in.rate(now, &[(A, 600_000)], WANTED) >= 600_000);
        }
        remb_in.said(now, vec![A], 450_000);
        assert_eq!(remb_in.rate(now, &[(A, 600_000)], WANTED), 450_000 + HEADERS);
    }

    #[test]
    fn a_paused_stream_is_tried_again_without_another_estimate() {
        let (mut remb_in, mut now) = begun();
        remb_in.said(now, vec![A], 100_000);
        assert!(remb_in.rate(now, &[(A, 600_000)], WANTED) < 200_000);
        let mut seconds = 0;
        while remb_in.rate(now, &[(A, 0)], WANTED) < 600_000 {
            now += Duration::from_secs(1);
            seconds += 1;
        }
        assert!((15..30).contains(&seconds), "{seconds}");
    }

    #[test]
    fn nothing_beyond_the_wanted_rate_is_tried() {
        let (mut remb_in, mut now) = begun();
        for _ in 0..100 {
            now += Duration::from_secs(1);
            remb_in.said(now, vec![A], 100_000);
            remb_in.rate(now, &[(A, 100_000)], 2_500_000);
        }
        assert!(remb_in.rate(now, &[(A, 100_000)], 2_500_000) < 2_800_000);
    }
}
