//! A ring with one bit for each of the newest numbers of a stream.

use dataplane::limits::REORDER_MAX;

const WORDS: usize = (REORDER_MAX / 64) as usize;

/// A ring of [`REORDER_MAX`] bits, addressed by extended sequence number.
///
/// A number and the one [`REORDER_MAX`] before it share a place, so a move to a newer number first
/// [renews](Self::renew) the places it takes over. 128 bytes replace a set of numbers, and counting
/// is a population count.
#[derive(Clone, Debug)]
pub(crate) struct RecentBits {
    words: [u64; WORDS],
}

impl RecentBits {
    pub(crate) const fn new() -> Self {
        RecentBits { words: [0; WORDS] }
    }

    pub(crate) fn get(&self, number: u64) -> bool {
        self.words[word(number)] & (1 << (number % 64)) != 0
    }

    pub(crate) fn set(&mut self, number: u64) {
        self.words[word(number)] |= 1 << (number % 64);
    }

    /// Clears the bits of `after + 1 ..= newest`.
    pub(crate) fn renew(&mut self, after: u64, newest: u64) {
        if newest - after >= REORDER_MAX {
            self.words.fill(0);
            return;
        }
        for_each_word(after + 1, newest, |word, mask| self.words[word] &= !mask);
    }

    /// How many bits of `from ..= to` are set; they must not be further apart than the ring is
    /// long.
    pub(crate) fn count(&self, from: u64, to: u64) -> u64 {
        debug_assert!(from > to || to - from < REORDER_MAX);
        let mut count = 0;
        for_each_word(from, to, |word, mask| {
            count += u64::from((self.words[word] & mask).count_ones())
        });
        count
    }

    /// Going down from `newest` to `oldest`, the number whose bit is clear after `skip` others
    /// whose bits are clear.
    pub(crate) fn nth_clear_down(&self, newest: u64, oldest: u64, mut skip: u64) -> Option<u64> {
        let mut high = newest;
        while high >= oldest {
            let low = oldest.max(high & !63);
            let clear = !self.words[word(high)] & mask(low, high);
            let here = u64::from(clear.count_ones());
            if skip < here {
                return Some((high & !63) + highest_but(clear, skip));
            }
            skip -= here;
            high = low.checked_sub(1)?;
        }
        None
    }
}

fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

/// The bits of `low ..= high`, which lie in one word.
fn mask(low: u64, high: u64) -> u64 {
    (u64::MAX >> (63 - high % 64)) & (u64::MAX << (low % 64))
}

fn for_each_word(from: u64, to: u64, mut apply: impl FnMut(usize, u64)) {
    let mut low = from;
    while low <= to {
        let high = to.min(low | 63);
        apply(word(low), mask(low, high));
        low = high + 1;
    }
}

/// The place of the highest set bit of `bits` after `skip` higher ones.
fn highest_but(mut bits: u64, skip: u64) -> u64 {
    for _ in 0..skip {
        bits &= !(1 << bits.ilog2());
    }
    u64::from(bits.ilog2())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The ring answers as a set of numbers would.
        #[test]
        fn it_equals_a_set(start in 2_000u64..10_000, steps in prop::collection::vec((1u64..300, any::<bool>()), 1..60), skip in 0u64..1_200) {
            let (mut bits, mut set, mut newest) = (RecentBits::new(), BTreeSet::new(), start);
            for (step, taken) in steps {
                bits.renew(newest, newest + step);
                newest += step;
                if taken {
                    bits.set(newest);
                    set.insert(newest);
                }
                let oldest = newest + 1 - REORDER_MAX;
                prop_assert_eq!(bits.count(oldest, newest), set.range(oldest..=newest).count() as u64);
                prop_assert_eq!(bits.count(newest - 70, newest), set.range(newest - 70..=newest).count() as u64);
                let clear = (oldest..=newest).rev().filter(|number| !set.contains(number)).nth(skip as usize);
                prop_assert_eq!(bits.nth_clear_down(newest, oldest, skip), clear);
            }
        }
    }

    #[test]
    fn a_large_jump_clears_the_window() {
        let mut bits = RecentBits::new();
        bits.set(5);
        bits.renew(5, 5 + REORDER_MAX);
        assert!(!bits.get(5 + REORDER_MAX));
        assert_eq!(bits.count(6, 5 + REORDER_MAX), 0);
    }
}
