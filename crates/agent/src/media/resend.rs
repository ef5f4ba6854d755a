//! Answering receivers' requests for lost packets: from the data plane's cache, within limits.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use dataplane::Inject;
use southbound::{SubscriptionId, TransportId};
use wire::rtcp::Nack;

use super::Media;
use super::allowance::Allowance;
use super::link::Link;
use crate::Counter;
use crate::context::Context;
use crate::limits::{RESENDS_PER_SECOND_MAX, RESENDS_PER_SECOND_MIN};

/// The same packet is not sent twice within a round trip, which is taken for this until it is known and is never less.
const ROUND_TRIP_MIN: Duration = Duration::from_millis(20);

/// How long a packet that was sent again is remembered, at most.
const MEMORY: Duration = Duration::from_millis(500);

/// What a packet that is sent again takes, about. Shape: bytes.
const PACKET: u64 = 1_200;

/// What one receiver had sent again of one subscription.
#[derive(Debug)]
pub(super) struct Resends {
    recent: VecDeque<(Instant, u16)>,
    allowance: Allowance,
}

impl Default for Resends {
    fn default() -> Self {
        Resends {
            recent: VecDeque::new(),
            allowance: Allowance::new(RESENDS_PER_SECOND_MAX, Duration::from_secs(1)),
        }
    }
}

/// What limits the packets one receiver has sent again.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// None twice within this.
    round_trip: Duration,
    /// No more than so many a second.
    per_second: u32,
}

impl Bounds {
    fn of(link: &Link) -> Self {
        let carried = link.budget.as_ref().filter(|budget| budget.reports());
        let per_second = carried.map_or(RESENDS_PER_SECOND_MAX, |budget| {
            let packets = budget.estimate().sendable / (8 * PACKET);
            packets.min(u64::from(RESENDS_PER_SECOND_MAX)) as u32
        });
        // A receiver asks again after a round trip as it knows it, which may be less than we know.
        let round_trip = link.round_trip().unwrap_or_default() * 3 / 4;
        Bounds {
            round_trip: round_trip.clamp(ROUND_TRIP_MIN, MEMORY),
            per_second: per_second.max(RESENDS_PER_SECOND_MIN),
        }
    }
}

impl Resends {
    /// Whether a packet may be sent again now. Remembers that it was.
    fn admit(&mut self, now: Instant, sequence: u16, bounds: Bounds) -> bool {
        let within = |since: Instant, limit| now.saturating_duration_since(since) < limit;
        while self.recent.front().is_some_and(|(at, _)| !within(*at, MEMORY)) {
            self.recent.pop_front();
        }
        let repeated = |(at, recent): &(Instant, u16)| *recent == sequence && within(*at, bounds.round_trip);
        if self.recent.iter().any(repeated) || !self.allowance.admit_up_to(now, 1, bounds.per_second) {
            return false;
        }
        self.recent.push_back((now, sequence));
        true
    }
}

impl Media {
    /// A receiver misses packets of a subscription.
    pub(super) fn resend(&mut self, cx: &mut Context<'_>, transport: TransportId, id: SubscriptionId, nack: &Nack<'_>) {
        let Some(bounds) = self.links.get(&transport).map(Bounds::of) else {
            return;
        };
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
            match downlink.resends.admit(cx.now, sequence.0, bounds) {
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

    const BOUNDS: Bounds = Bounds {
        round_trip: Duration::from_millis(80),
        per_second: 100,
    };

    #[test]
    fn a_packet_is_sent_again_once_a_round_trip() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut resends = Resends::default();
        assert!(resends.admit(at(0), 7, BOUNDS));
        assert!(!resends.admit(at(79), 7, BOUNDS));
        assert!(resends.admit(at(79), 8, BOUNDS));
        assert!(resends.admit(at(80), 7, BOUNDS));
    }

    #[test]
    fn one_receiver_has_a_budget() {
        let start = Instant::now();
        let mut resends = Resends::default();
        let admitted = (0..u16::MAX)
            .filter(|sequence| resends.admit(start, *sequence, BOUNDS))
            .count();
        assert_eq!(admitted, BOUNDS.per_second as usize);
        assert!(resends.admit(start + Duration::from_secs(1), 1, BOUNDS));
    }
}
