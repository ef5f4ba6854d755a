//! Packets to be sent again as soon as the path has room for them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use southbound::SubscriptionId;

/// How long one waits, at most: who misses a packet for longer goes on from a key frame.
const MEMORY: Duration = Duration::from_secs(1);

/// How many one receiver may be owed.
const MAX: usize = 64;

/// What one receiver is to have sent again when its path has drained enough; oldest first.
///
/// Refusing what does not fit now would refuse it for good. libwebrtc ceases to ask for a packet once a later picture is continuous without it, and with
/// spatial layers the small size of the next picture is: its decoder waits for the rest of the large one nevertheless, until the next key frame.
#[derive(Debug, Default)]
pub(super) struct Owed(VecDeque<Debt>);

#[derive(Clone, Copy, Debug)]
pub(super) struct Debt {
    /// When it was put off.
    pub(super) since: Instant,
    pub(super) subscription: SubscriptionId,
    pub(super) sequence: u16,
}

impl Debt {
    /// Whether it waits for too long.
    pub(super) fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= MEMORY
    }
}

impl Owed {
    /// Puts a packet off. Says whether it is owed now: not if too many are.
    pub(super) fn put_off(&mut self, now: Instant, subscription: SubscriptionId, sequence: u16) -> bool {
        let same = |debt: &Debt| (debt.subscription, debt.sequence) == (subscription, sequence);
        let is_owed = self.0.iter().any(same);
        let has_room = self.0.len() < MAX;
        if !is_owed && has_room {
            self.0.push_back(Debt {
                since: now,
                subscription,
                sequence,
            });
        }
        is_owed || has_room
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What waits for longest.
    pub(super) fn first(&self) -> Option<Debt> {
        self.0.front().copied()
    }

    /// Takes what waits for longest off the list.
    pub(super) fn settle(&mut self) {
        self.0.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_owed_once_and_not_for_ever() {
        let start = Instant::now();
        let mut owed = Owed::default();
        assert!(owed.put_off(start, SubscriptionId(1), 7));
        assert!(owed.put_off(start, SubscriptionId(1), 7));
        assert!(owed.put_off(start + MEMORY / 2, SubscriptionId(2), 7));
        let first = |owed: &Owed| {
            owed.first()
                .map(|debt| (debt.subscription.0, debt.is_forgotten(start + MEMORY)))
        };
        assert_eq!(first(&owed), Some((1, true)));
        owed.settle();
        assert_eq!(first(&owed), Some((2, false)));
        owed.settle();
        assert!(owed.is_empty());
    }

    #[test]
    fn who_asks_for_everything_is_owed_little() {
        let mut owed = Owed::default();
        let put_off = |sequence: &u16| owed.put_off(Instant::now(), SubscriptionId(1), *sequence);
        assert_eq!((0..u16::MAX).filter(put_off).count(), MAX);
    }
}
