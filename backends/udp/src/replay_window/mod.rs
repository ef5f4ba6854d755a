//! Replay windows: which of the newest numbers were seen.
//!
//! [`ReplayWindow`] is that of SRTP, over indexes. [`SequenceWindow`] is that of RTP, over sequence
//! numbers. Both are a ring of [bits](RecentBits).

mod bits;
mod sequence;

pub(crate) use bits::RecentBits;
pub(crate) use sequence::SequenceWindow;

use dataplane::limits::REORDER_MAX;

/// The newest [`REORDER_MAX`] indexes of one stream: each is accepted at most once, and older ones
/// not at all.
///
/// Source: RFC 3711 section 3.3.2.
pub(crate) struct ReplayWindow {
    highest: u64,
    seen: RecentBits,
}

/// Why an index is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stale {
    Seen,
    TooOld,
}

impl ReplayWindow {
    /// A window that has seen one index.
    pub(crate) fn starting_at(index: u64) -> Self {
        let mut window = ReplayWindow {
            highest: index,
            seen: RecentBits::new(),
        };
        window.seen.set(index);
        window
    }

    /// The highest index seen.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Whether `index` was not seen yet; changes nothing.
    pub(crate) fn check(&self, index: u64) -> Result<(), Stale> {
        if index > self.highest {
            Ok(())
        } else if self.highest - index >= REORDER_MAX {
            Err(Stale::TooOld)
        } else if self.seen.get(index) {
            Err(Stale::Seen)
        } else {
            Ok(())
        }
    }

    /// Records an index that passed [`check`](Self::check).
    pub(crate) fn mark(&mut self, index: u64) {
        debug_assert_eq!(self.check(index), Ok(()));
        if index > self.highest {
            self.seen.renew(self.highest, index - 1);
            self.highest = index;
        }
        self.seen.set(index);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_index_is_accepted_once_and_only_inside_the_window() {
        let mut window = ReplayWindow::starting_at(5_000);
        assert_eq!(window.check(5_000), Err(Stale::Seen));
        assert_eq!(window.check(5_000 - REORDER_MAX), Err(Stale::TooOld));
        assert_eq!(window.check(5_000 - REORDER_MAX + 1), Ok(()));
        window.mark(5_000 - REORDER_MAX + 1);
        assert_eq!(window.check(5_000 - REORDER_MAX + 1), Err(Stale::Seen));
        window.mark(5_001);
        assert_eq!(window.check(5_000 - REORDER_MAX + 1), Err(Stale::TooOld));
        window.mark(5_001 + 10 * REORDER_MAX);
        assert_eq!(window.check(5_000 + 10 * REORDER_MAX), Ok(()));
    }

    proptest! {
        /// The bitmap answers as a set of everything ever marked would.
        #[test]
        fn it_equals_a_set(start in 0_u64..5_000, steps in prop::collection::vec(-1_500_i64..1_500, 1..400)) {
            let mut window = ReplayWindow::starting_at(start);
            let mut set = BTreeSet::from([start]);
            for step in steps {
                let highest = *set.last().unwrap();
                let Some(index) = highest.checked_add_signed(step) else { continue };
                let expected = if index + REORDER_MAX <= highest {
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
