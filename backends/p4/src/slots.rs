//! Numbers of things on the switch, and when one may be given to another thing.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::entry::Key;
use crate::table_writer::TableWriter;

/// So long after the last entry with a number is gone, the number is free: packets that were on
/// their way are gone then, and the counters have been read a last time.
pub(crate) const REST: Duration = Duration::from_secs(3);

/// Numbers that are free, those that are used, and those that rest.
#[derive(Debug)]
pub(crate) struct Slots<N = u16> {
    /// Never used so far, up to `end`.
    next: u32,
    end: u32,
    free: VecDeque<N>,
    resting: Vec<Resting<N>>,
}

#[derive(Debug)]
struct Resting<N> {
    slot: N,
    /// The entries that name it.
    keys: Vec<Key>,
    /// Since when all of them are gone.
    since: Option<Instant>,
}

impl<N: Copy + Into<u32> + TryFrom<u32>> Slots<N> {
    /// The numbers from `first` up to `end`, which is not among them.
    pub(crate) fn new(first: N, end: u32) -> Self {
        Slots {
            next: first.into(),
            end,
            free: VecDeque::new(),
            resting: Vec::new(),
        }
    }

    /// A number that nothing on the switch has.
    pub(crate) fn take(&mut self) -> Option<N> {
        if self.next < self.end
            && let Ok(slot) = N::try_from(self.next)
        {
            self.next += 1;
            return Some(slot);
        }
        self.free.pop_front()
    }

    /// A number is no longer used, by these entries, which are no longer wanted.
    pub(crate) fn give_back(&mut self, slot: N, keys: Vec<Key>) {
        self.resting.push(Resting {
            slot,
            keys,
            since: None,
        });
    }

    /// Frees those that have rested, of which no entry may be on the switch, and returns them.
    pub(crate) fn tick(&mut self, now: Instant, writer: &TableWriter) -> Vec<N> {
        let mut rested = Vec::new();
        self.resting.retain_mut(|resting| {
            if resting.since.is_none() && resting.keys.iter().all(|key| writer.is_absent(key)) {
                resting.since = Some(now);
            }
            let is_free = resting
                .since
                .is_some_and(|since| now.saturating_duration_since(since) >= REST);
            if is_free {
                rested.push(resting.slot);
            }
            !is_free
        });
        self.free.extend(&rested);
        rested
    }

    /// The numbers that rest.
    pub(crate) fn resting(&self) -> impl Iterator<Item = N> + '_ {
        self.resting.iter().map(|resting| resting.slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Table, Value};

    #[test]
    fn a_number_rests_until_its_entries_are_gone() {
        let start = Instant::now();
        let key = Key::Entry(Table::PayloadType, vec![1, 96]);
        let (mut writer, mut settled) = (TableWriter::default(), Vec::new());
        writer.want(key.clone(), Value::Data(vec![97]));
        writer.next_batch(start, &mut settled);
        writer.answered(&[Ok(())], &mut settled);
        let mut slots = Slots::new(1_u16, 2);
        assert_eq!(slots.take(), Some(1));
        writer.unwant(&key);
        slots.give_back(1, vec![key.clone()]);
        slots.tick(start, &writer);
        slots.tick(start + REST, &writer);
        assert_eq!(slots.take(), None, "the entry is there");
        writer.next_batch(start, &mut settled);
        writer.lost();
        slots.tick(start + REST, &writer);
        slots.tick(start + 2 * REST, &writer);
        assert_eq!(slots.take(), None, "the entry may be there");
        writer.found(Default::default());
        slots.tick(start + 2 * REST, &writer);
        assert_eq!(slots.take(), None, "it has not rested");
        slots.tick(start + 3 * REST, &writer);
        assert_eq!(slots.take(), Some(1));
    }

    #[test]
    fn numbers_are_as_many_as_the_type_has() {
        let mut slots = Slots::new(u16::MAX, 1 << 17);
        assert_eq!((slots.take(), slots.take()), (Some(u16::MAX), None));
        let mut slots = Slots::new(1 << 20, (1 << 20) + 1);
        assert_eq!((slots.take(), slots.take()), (Some(1_u32 << 20), None));
    }
}
