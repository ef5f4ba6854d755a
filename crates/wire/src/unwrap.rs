//! Wrapping counters made monotonic, so that code after the parser can compare with `<`.

/// Extends 16-bit sequence numbers to 64 bits.
///
/// Every number is placed within half a cycle of the highest seen, so late packets get the extended
/// number they would have had in time. The first packet is placed in cycle one, not zero: packets
/// reordered before it still get a number, and no extended number is ever negative. An SRTP packet
/// index is therefore not this number (RFC 3711 counts rollovers from zero).
///
/// Source: RFC 3550 appendix A.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwrapper {
    highest: Option<u64>,
}

impl Unwrapper {
    /// The extended number of `value`, remembered when it is the highest so far.
    #[inline]
    pub fn extend(&mut self, value: u16) -> u64 {
        let extended = self.peek(value);
        self.highest = self.highest.max(Some(extended));
        extended
    }

    /// The extended number of `value` without remembering it: for packets that are not yet known to
    /// be genuine.
    #[inline]
    pub fn peek(&self, value: u16) -> u64 {
        match self.highest {
            None => (1 << 16) + u64::from(value),
            Some(highest) => {
                let distance = value.wrapping_sub(highest as u16) as i16;
                highest.wrapping_add_signed(i64::from(distance))
            }
        }
    }

    /// The highest extended number so far.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }
}

/// Extends 32-bit timestamps to 64 bits by the same rule as [`Unwrapper`]; the first value is
/// placed in cycle one.
///
/// Also right for the arrival ticks of [`rtcp::TransportFeedback`](crate::rtcp::TransportFeedback).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimestampUnwrapper {
    highest: Option<u64>,
}

impl TimestampUnwrapper {
    /// The extended value, remembered when it is the highest so far.
    #[inline]
    pub fn extend(&mut self, value: u32) -> u64 {
        let extended = self.peek(value);
        self.highest = self.highest.max(Some(extended));
        extended
    }

    /// The extended value without remembering it.
    #[inline]
    pub fn peek(&self, value: u32) -> u64 {
        match self.highest {
            None => (1 << 32) + u64::from(value),
            Some(highest) => {
                let distance = value.wrapping_sub(highest as u32) as i32;
                highest.wrapping_add_signed(i64::from(distance))
            }
        }
    }

    /// The highest extended value so far.
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_before_the_first_still_has_a_number() {
        let mut unwrapper = Unwrapper::default();
        let first = unwrapper.extend(0);
        assert_eq!(unwrapper.extend(65_535), first - 1);
        assert_eq!(unwrapper.highest(), Some(first));
    }

    #[test]
    fn wrapping_carries_into_the_upper_bits() {
        let mut unwrapper = Unwrapper::default();
        let first = unwrapper.extend(65_535);
        assert_eq!(unwrapper.extend(0), first + 1);
        assert_eq!(
            unwrapper.extend(65_534),
            first - 1,
            "a late packet does not move the cycle"
        );
        assert_eq!(unwrapper.extend(1), first + 2);
    }

    proptest! {
        #[test]
        fn small_steps_are_followed_exactly(start: u16, steps in prop::collection::vec(-1000i64..2000, 0..200)) {
            let mut unwrapper = Unwrapper::default();
            let first = unwrapper.extend(start);
            let mut truth = first;
            for step in steps {
                let next = unwrapper.highest().unwrap().max(truth).wrapping_add_signed(step);
                prop_assert_eq!(unwrapper.extend(next as u16), next);
                truth = next;
            }
        }

        #[test]
        fn any_numbers_keep_their_low_bits(values: Vec<u16>, timestamps: Vec<u32>) {
            let (mut sequence, mut timestamp) = (Unwrapper::default(), TimestampUnwrapper::default());
            for value in values {
                prop_assert_eq!(sequence.extend(value) as u16, value);
            }
            for value in timestamps {
                prop_assert_eq!(timestamp.extend(value) as u32, value);
            }
        }
    }
}
