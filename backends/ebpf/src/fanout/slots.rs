//! Places in the kernel's tables, and when one may be used again.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// A packet that was being copied when a place was given up is long gone by then.
const GRACE: Duration = Duration::from_millis(100);

/// Places that are free.
#[derive(Debug)]
pub(super) struct Slots(VecDeque<(u32, Option<Instant>)>);

impl Slots {
    /// So many, but for those that are used.
    pub(super) fn new(count: u32, used: &BTreeSet<u32>) -> Self {
        let free = (0..count).filter(|slot| !used.contains(slot));
        Slots(free.map(|slot| (slot, None)).collect())
    }

    /// A slot that no packet uses any more: of the released ones, the one released first.
    pub(super) fn take(&mut self, now: Instant) -> Option<u32> {
        let (_, since) = self.0.front()?;
        if since.is_some_and(|since| now.saturating_duration_since(since) < GRACE) {
            return None;
        }
        self.0.pop_front().map(|(slot, _)| slot)
    }

    pub(super) fn give_up(&mut self, slot: u32, now: Instant) {
        self.0.push_back((slot, Some(now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_slots_rest_before_they_are_used_again() {
        let start = Instant::now();
        let mut slots = Slots::new(2, &BTreeSet::from([1]));
        assert_eq!(slots.take(start), Some(0));
        slots.give_up(0, start);
        assert_eq!(slots.take(start + GRACE / 2), None);
        assert_eq!(slots.take(start + GRACE), Some(0));
        assert_eq!(slots.take(start + GRACE), None);
    }
}
