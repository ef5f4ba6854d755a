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
pub(crate) struct Slots {
    /// Never used so far, up to `end`.
    next: u32,
    end: u32,
    free: VecDeque<u16>,
    resting: Vec<Resting>,
}

#[derive(Debug)]
struct Resting {
    slot: u16,
    /// The entries that name it.
    keys: Vec<Key>,
    /// Since when all of them are gone.
    since: Option<Instant>,
}

impl Slots {
    /// The numbers from `first` up to `end`, which is not among them.
    pub(crate) fn new(first: u16, end: u32) -> Self {
        Slots {
            next: first.into(),
            end: end.min(1 << 16),
            free: VecDeque::new(),
            resting: Vec::new(),
        }
    }

    /// A number that nothing on the switch has.
    pub(crate) fn take(&mut self) -> Option<u16> {
        if self.next < self.end {
            self.next += 1;
            return Some((self.next - 1) as u16);
        }
        self.free.pop_front()
    }

    /// A number is no longer used, by these entries, which are no longer wanted.
    pub(crate) fn give_back(&mut self, slot: u16, keys: Vec<Key>) {
        self.resting.push(Resting {
            slot,
            keys,
            since: None,
        });
    }

    /// Frees those that have rested, of which no entry may be on the switch, and returns them.
    pub(crate) fn tick(&mut self, now: Instant, writer: &TableWriter) -> Vec<u16> {
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
    pub(crate) fn resting(&self) -> impl Iterator<Item = u16> + '_ {
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
        let mut slots = Slots::new(1, 2);
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
}
