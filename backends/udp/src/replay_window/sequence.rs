//! The window of RTP sequence numbers of one SSRC.

use dataplane::Counter;
use dataplane::limits::REORDER_MAX;
use wire::Unwrapper;

use super::RecentBits;

/// The newest [`REORDER_MAX`] numbers of one SSRC, extended to 64 bits.
#[derive(Debug)]
pub(crate) struct SequenceWindow {
    unwrapper: Unwrapper,
    seen: RecentBits,
}

impl SequenceWindow {
    pub(crate) fn new() -> Self {
        SequenceWindow {
            unwrapper: Unwrapper::default(),
            seen: RecentBits::new(),
        }
    }

    /// Whether this is the number after the highest.
    pub(crate) fn is_next(&self, sequence: u16) -> bool {
        let highest = self.unwrapper.highest();
        highest.is_some_and(|highest| self.unwrapper.peek(sequence) == highest + 1)
    }

    /// Whether this number is higher than all that were received.
    pub(crate) fn is_newest(&self, sequence: u16) -> bool {
        self.unwrapper.peek(sequence) > self.highest()
    }

    /// Accepts a new number and extends it, or says why it is not accepted.
    pub(crate) fn receive(&mut self, sequence: u16) -> Result<u64, Counter> {
        let number = self.unwrapper.peek(sequence);
        match self.unwrapper.highest() {
            None => {}
            Some(highest) if number > highest => self.seen.renew(highest, number),
            Some(highest) if number + REORDER_MAX <= highest => return Err(Counter::TooLate),
            Some(_) if self.seen.get(number) => return Err(Counter::Duplicate),
            Some(_) => {}
        }
        self.seen.set(number);
        Ok(self.unwrapper.extend(sequence))
    }

    /// The highest number received, 0 before the first.
    pub(crate) fn highest(&self) -> u64 {
        self.unwrapper.highest().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_is_taken_once_and_only_inside_the_window(start: u16, steps in prop::collection::vec(-1_300i64..1_300, 1..300)) {
            let (mut window, mut seen) = (SequenceWindow::new(), BTreeSet::new());
            seen.insert(window.receive(start).unwrap());
            for step in steps {
                let highest = *seen.last().unwrap();
                let number = highest.wrapping_add_signed(step);
                prop_assert_eq!(window.is_next(number as u16), step == 1);
                let expected = if number + REORDER_MAX <= highest {
                    Err(Counter::TooLate)
                } else if seen.insert(number) {
                    Ok(number)
                } else {
                    Err(Counter::Duplicate)
                };
                prop_assert_eq!(window.receive(number as u16), expected);
            }
        }
    }
}
