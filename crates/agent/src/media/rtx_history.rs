//! Which packets were sent again, or asked for, a short time ago, and how many more may be.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::limits::{RESENDS_PER_SECOND_MAX, UPSTREAM_NACKS_OF_ONE_PER_SECOND_MAX};
use crate::media::rate_limit::RateLimit;

/// How long a packet that was sent again is remembered, at most.
pub(in crate::media) const MEMORY: Duration = Duration::from_millis(500);

/// The window in which the retransmissions of a receiver are limited while packets wait for long in
/// its path.
pub(in crate::media) const CONGESTED_WINDOW: Duration = Duration::from_millis(125);

/// Limit on retransmissions to one receiver, over all its subscriptions, while its path is
/// congested.
pub(in crate::media) const fn congested_limit() -> RateLimit {
    RateLimit::new(RESENDS_PER_SECOND_MAX, CONGESTED_WINDOW)
}

/// Recent retransmissions to one receiver for one subscription, or requests to one publisher for
/// one stream.
#[derive(Debug)]
pub(in crate::media) struct RtxHistory {
    recent: VecDeque<(Instant, u16)>,
    rate_limit: RateLimit,
}

impl Default for RtxHistory {
    fn default() -> Self {
        RtxHistory {
            recent: VecDeque::new(),
            rate_limit: RateLimit::new(RESENDS_PER_SECOND_MAX, Duration::from_secs(1)),
        }
    }
}

/// Limits on retransmissions.
#[derive(Clone, Copy, Debug)]
pub(in crate::media) struct RtxBounds {
    /// None twice within this.
    pub(in crate::media) round_trip: Duration,
    /// Packets per second.
    pub(in crate::media) per_second: u32,
    /// Packets in [`CONGESTED_WINDOW`], together with those of other subscriptions.
    pub(in crate::media) together: Option<u32>,
    /// How often each is sent.
    pub(in crate::media) copies: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::media) enum Admission {
    Now,
    /// When packets wait for less long in the path.
    Later,
    Never,
}

impl RtxBounds {
    /// Whether the path has room for one more, of all that its receiver has sent again.
    pub(in crate::media) fn has_room(&self, now: Instant, together: &mut RateLimit) -> bool {
        self.together
            .is_none_or(|most| together.admit_up_to(now, self.copies, most))
    }

    /// The same for requests to a publisher: it is asked for all receivers, so one receiver may use
    /// only its share.
    pub(in crate::media) fn of_publisher(self) -> Self {
        RtxBounds {
            per_second: self.per_second.min(UPSTREAM_NACKS_OF_ONE_PER_SECOND_MAX),
            copies: 1,
            ..self
        }
    }
}

impl RtxHistory {
    /// Whether it was sent again lately.
    pub(in crate::media) fn has(&self, sequence: u16) -> bool {
        self.recent.iter().any(|(_, recent)| *recent == sequence)
    }

    /// Whether no more packets are sent again for now.
    pub(in crate::media) fn is_used_up(&self, now: Instant, bounds: RtxBounds) -> bool {
        self.rate_limit.is_used_up(now, bounds.per_second)
    }

    /// How long ago it was sent again, or asked for, if that was so once: of which of several
    /// requests something is the answer nobody can tell.
    pub(in crate::media) fn since(&self, now: Instant, sequence: u16) -> Option<Duration> {
        let mut times = self.recent.iter().filter(|(_, recent)| *recent == sequence);
        let (at, _) = times.next()?;
        times.next().is_none().then(|| now.saturating_duration_since(*at))
    }

    /// When a packet may be sent again. Remembers that it was, if that is now.
    pub(in crate::media) fn admit(
        &mut self,
        now: Instant,
        sequence: u16,
        bounds: RtxBounds,
        together: &mut RateLimit,
    ) -> Admission {
        if !self.may(now, sequence, bounds) {
            return Admission::Never;
        }
        if !bounds.has_room(now, together) {
            return Admission::Later;
        }
        self.remember(now, sequence);
        Admission::Now
    }

    /// The same without a limit shared with other subscriptions.
    pub(in crate::media) fn admit_alone(&mut self, now: Instant, sequence: u16, bounds: RtxBounds) -> bool {
        let is_admitted = self.may(now, sequence, bounds);
        if is_admitted {
            self.remember(now, sequence);
        }
        is_admitted
    }

    pub(in crate::media) fn remember(&mut self, now: Instant, sequence: u16) {
        self.recent.push_back((now, sequence));
    }

    fn may(&mut self, now: Instant, sequence: u16, bounds: RtxBounds) -> bool {
        let within = |since: Instant, limit| now.saturating_duration_since(since) < limit;
        while self.recent.front().is_some_and(|(at, _)| !within(*at, MEMORY)) {
            self.recent.pop_front();
        }
        let repeated = |(at, recent): &(Instant, u16)| *recent == sequence && within(*at, bounds.round_trip);
        !self.recent.iter().any(repeated) && self.rate_limit.admit_up_to(now, bounds.copies, bounds.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: RtxBounds = RtxBounds {
        round_trip: Duration::from_millis(80),
        per_second: 100,
        together: None,
        copies: 1,
    };

    fn admit(history: &mut RtxHistory, now: Instant, sequence: u16) -> bool {
        history.admit(now, sequence, BOUNDS, &mut congested_limit()) == Admission::Now
    }

    #[test]
    fn a_packet_is_sent_again_once_a_round_trip() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut history = RtxHistory::default();
        assert!(admit(&mut history, at(0), 7));
        assert!(!admit(&mut history, at(79), 7));
        assert!(admit(&mut history, at(79), 8));
        assert!(admit(&mut history, at(80), 7));
    }

    #[test]
    fn one_receiver_has_a_budget() {
        let start = Instant::now();
        let mut history = RtxHistory::default();
        let admitted = (0..u16::MAX)
            .filter(|sequence| admit(&mut history, start, *sequence))
            .count();
        assert_eq!(admitted, BOUNDS.per_second as usize);
        assert!(admit(&mut history, start + Duration::from_secs(1), 1));
    }

    #[test]
    fn a_full_queue_has_little_added_whichever_subscription_it_is_of() {
        let (start, mut together) = (Instant::now(), congested_limit());
        let bounds = RtxBounds {
            together: Some(3),
            ..BOUNDS
        };
        let mut subscriptions = [RtxHistory::default(), RtxHistory::default()];
        let mut admitted = |at| {
            let asked = (0..20_u16).map(|sequence| (usize::from(sequence % 2), sequence));
            let mut admit = |(of, sequence): (usize, u16)| subscriptions[of].admit(at, sequence, bounds, &mut together);
            asked.filter(|asked| admit(*asked) == Admission::Now).count()
        };
        assert_eq!(admitted(start), 3);
        assert_eq!(admitted(start + CONGESTED_WINDOW - Duration::from_millis(1)), 0);
        assert_eq!(admitted(start + CONGESTED_WINDOW), 3);
    }
}
