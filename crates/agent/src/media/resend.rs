//! Answering receivers' requests for lost packets: from the data plane's cache, within limits.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dataplane::Inject;
use southbound::{SubscriptionId, TransportId};
use wire::rtcp::Nack;

use super::Media;
use super::link::Link;
use crate::Counter;
use crate::context::Context;
use crate::limits::RESENDS_PER_SECOND_MAX;

/// The same packet is not sent twice within a round trip, which is taken for this until it is known and is never less.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(20);

/// How long a packet that was sent again is remembered, at most.
const MEMORY: Duration = Duration::from_millis(300);

/// What one receiver had sent again of one subscription.
#[derive(Debug, Default)]
pub(super) struct Resends {
    recent: VecDeque<(Instant, u16)>,
    window: Option<Instant>,
    used: u32,
}

impl Resends {
    /// Whether a packet may be sent again now. Remembers that it was.
    fn admit(&mut self, now: Instant, sequence: u16, round_trip: Duration) -> bool {
        let within = |since: Instant, limit| now.saturating_duration_since(since) < limit;
        while self.recent.front().is_some_and(|(at, _)| !within(*at, MEMORY)) {
            self.recent.pop_front();
        }
        if !self.window.is_some_and(|window| within(window, Duration::from_secs(1))) {
            (self.window, self.used) = (Some(now), 0);
        }
        let repeated = |(at, recent): &(Instant, u16)| *recent == sequence && within(*at, round_trip);
        if self.used >= RESENDS_PER_SECOND_MAX || self.recent.iter().any(repeated) {
            return false;
        }
        self.used += 1;
        self.recent.push_back((now, sequence));
        true
    }
}

impl Media {
    /// A receiver misses packets of a subscription.
    pub(super) fn resend(&mut self, cx: &mut Context<'_>, transport: TransportId, id: SubscriptionId, nack: &Nack<'_>) {
        let round_trip = self.links.get(&transport).and_then(Link::round_trip);
        let round_trip = round_trip.unwrap_or_default().clamp(ROUND_TRIP_MIN, MEMORY);
        let Some(downlink) = self.downlinks.get_mut(&id) else {
            return;
        };
        let Some(entry) = downlink.entry.filter(|_| downlink.subscription.rtx.is_some()) else {
            cx.count(Counter::RtcpIgnored);
            return;
        };
        let mut refused = 0;
        let mut sequences = Vec::new();
        for sequence in nack.sequences() {
            match downlink.resends.admit(cx.now, sequence.0, round_trip) {
                true => sequences.push(sequence.0),
                false => refused += 1,
            }
        }
        cx.count_many(Counter::NackReceived, refused + sequences.len() as u64);
        cx.count_many(Counter::NackThrottled, refused);
        if !sequences.is_empty() {
            cx.plane.inject(
                cx.now,
                Inject::Resend {
                    replica: entry.replica,
                    sequences: &sequences,
                },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_sent_again_once_a_round_trip() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut resends = Resends::default();
        let round_trip = Duration::from_millis(80);
        assert!(resends.admit(at(0), 7, round_trip));
        assert!(!resends.admit(at(79), 7, round_trip));
        assert!(resends.admit(at(79), 8, round_trip));
        assert!(resends.admit(at(80), 7, round_trip));
    }

    #[test]
    fn one_receiver_has_a_budget() {
        let start = Instant::now();
        let mut resends = Resends::default();
        let admitted = (0..u16::MAX)
            .filter(|sequence| resends.admit(start, *sequence, ROUND_TRIP_MIN))
            .count();
        assert_eq!(admitted, RESENDS_PER_SECOND_MAX as usize);
        assert!(resends.admit(start + Duration::from_secs(1), 1, ROUND_TRIP_MIN));
    }
}
