//! Which of the newest indexes of a stream were seen.

/// Indexes of a stream that are remembered one by one, behind its highest. At 1,000 packets a
/// second, one second.
pub(super) const WINDOW: u64 = 1024;

/// A bitmap of the newest [`WINDOW`] indexes of one stream: each is seen at most once, older ones
/// not at all.
///
/// Source: RFC 3711 section 3.3.2.
pub(super) struct Window {
    highest: u64,
    /// Index `i` has bit `i % WINDOW`; bits ahead of `highest` belong to the oldest indexes and are
    /// cleared as it moves.
    seen: [u64; (WINDOW / 64) as usize],
}

/// Why an index cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stale {
    Seen,
    TooOld,
}

impl Window {
    /// A window that has seen one index.
    pub(super) fn starting_at(index: u64) -> Self {
        let mut window = Self {
            highest: index,
            seen: [0; (WINDOW / 64) as usize],
        };
        window.set(index);
        window
    }

    /// The highest index seen.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether `index` is one that was not seen yet; changes nothing.
    pub(super) fn check(&self, index: u64) -> Result<(), Stale> {
        if index > self.highest {
            Ok(())
        } else if self.highest - index >= WINDOW {
            Err(Stale::TooOld)
        } else if self.seen[word(index)] & bit(index) != 0 {
            Err(Stale::Seen)
        } else {
            Ok(())
        }
    }

    /// Records an index that passed [`check`](Self::check).
    pub(super) fn mark(&mut self, index: u64) {
        debug_assert_eq!(self.check(index), Ok(()));
        if index > self.highest {
            self.advance_to(index);
        }
        self.set(index);
    }

    fn advance_to(&mut self, index: u64) {
        if index - self.highest >= WINDOW {
            self.seen.fill(0);
        } else {
            for skipped in self.highest + 1..index {
                self.seen[word(skipped)] &= !bit(skipped);
            }
        }
        self.highest = index;
    }

    fn set(&mut self, index: u64) {
        self.seen[word(index)] |= bit(index);
    }
}

fn word(index: u64) -> usize {
    (index % WINDOW / 64) as usize
}

fn bit(index: u64) -> u64 {
    1 << (index % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_index_is_taken_once_and_only_inside_the_window() {
        let mut window = Window::starting_at(5_000);
        assert_eq!(window.check(5_000), Err(Stale::Seen));
        assert_eq!(window.check(5_000 - WINDOW), Err(Stale::TooOld));
        assert_eq!(window.check(5_000 - WINDOW + 1), Ok(()));
        window.mark(5_000 - WINDOW + 1);
        assert_eq!(window.check(5_000 - WINDOW + 1), Err(Stale::Seen));
        window.mark(5_001);
        assert_eq!(window.check(5_000 - WINDOW + 1), Err(Stale::TooOld));
        window.mark(5_001 + 10 * WINDOW);
        assert_eq!(window.check(5_000 + 10 * WINDOW), Ok(()));
    }

    proptest! {
        /// The bitmap answers as a set of everything ever marked would.
        #[test]
        fn it_equals_a_set(start in 0_u64..5_000, steps in prop::collection::vec(-1_500_i64..1_500, 1..400)) {
            let mut window = Window::starting_at(start);
            let mut set = BTreeSet::from([start]);
            for step in steps {
                let highest = *set.last().unwrap();
                let Some(index) = highest.checked_add_signed(step) else { continue };
                let expected = if index + WINDOW <= highest {
                    Err(Stale::TooOld)
                } else if set.contains(&index) {
                    Err(Stale::Seen)
                } else {
                    Ok(())
                };
                prop_assert_eq!(window.check(index), expected);
                if expected.is_ok() {
                    window.mark(index);
                    set.insert(index);
                }
            }
        }
    }
}
