//! Playout delay of a receiver.

use std::time::Duration;

/// The least and the greatest delay between arrival and display of video.
///
/// A receiver keeps the last value. Zero for both asks for display at once, without any smoothing;
/// [`NORMAL`](Self::NORMAL) takes an earlier value back.
///
/// Shape: two numbers of 12 bits, in units of 10 ms.
/// Source: the webrtc.org `playout-delay` experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlayoutDelay {
    min: u16,
    max: u16,
}

const UNIT: Duration = Duration::from_millis(10);
const UNITS_MAX: u16 = 0x0fff;

impl PlayoutDelay {
    /// No wish: a minimum below that of any receiver, and the maximum that browsers use by
    /// themselves. The minimum is not zero, which browsers take as a wish for the least possible
    /// delay.
    pub const NORMAL: Self = Self { min: 1, max: 1_000 };

    /// At least `min`, rounded up to a whole unit, and at most the normal maximum or `min`.
    pub fn at_least(min: Duration) -> Self {
        let units = min.as_micros().div_ceil(UNIT.as_micros()).min(u128::from(UNITS_MAX)) as u16;
        Self {
            min: units.max(Self::NORMAL.min),
            max: units.max(Self::NORMAL.max),
        }
    }

    /// Reads an extension value; `None` unless it is three bytes.
    pub fn parse(value: &[u8]) -> Option<Self> {
        match *value {
            [a, b, c] => Some(Self {
                min: u16::from(a) << 4 | u16::from(b) >> 4,
                max: u16::from(b & 0x0f) << 8 | u16::from(c),
            }),
            _ => None,
        }
    }

    /// The extension value.
    pub const fn to_bytes(self) -> [u8; 3] {
        [
            (self.min >> 4) as u8,
            (self.min << 4) as u8 | (self.max >> 8) as u8,
            self.max as u8,
        ]
    }

    /// The least delay.
    pub fn min(self) -> Duration {
        UNIT * u32::from(self.min)
    }

    /// The greatest delay.
    pub fn max(self) -> Duration {
        UNIT * u32::from(self.max)
    }

    /// Combined with the publisher's value: the larger of the two minima, and the publisher's
    /// maximum unless that is less.
    pub fn with_publishers(self, publishers: Option<Self>) -> Self {
        let Some(publishers) = publishers else { return self };
        let min = self.min.max(publishers.min);
        Self {
            min,
            max: publishers.max.max(min),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_delays_are_twelve_bits() {
        assert_eq!(
            PlayoutDelay::parse(&[0x12, 0x34, 0x56]),
            Some(PlayoutDelay { min: 0x123, max: 0x456 })
        );
        for bytes in [[0, 0, 0], [0x12, 0x34, 0x56], [0xff, 0xff, 0xff]] {
            assert_eq!(PlayoutDelay::parse(&bytes).unwrap().to_bytes(), bytes);
        }
        assert_eq!(PlayoutDelay::parse(&[1, 2]), None);
    }

    #[test]
    fn a_least_delay_is_rounded_up_and_never_zero() {
        let at_least = |millis| PlayoutDelay::at_least(Duration::from_millis(millis));
        assert_eq!(at_least(0), PlayoutDelay::NORMAL);
        assert_eq!(at_least(171).min(), Duration::from_millis(180));
        assert_eq!(at_least(171).max(), Duration::from_secs(10));
        assert_eq!(at_least(100_000).to_bytes(), [0xff; 3]);
    }

    #[test]
    fn the_larger_least_delay_counts() {
        let (ours, theirs) = (PlayoutDelay { min: 17, max: 1_000 }, PlayoutDelay { min: 0, max: 0 });
        assert_eq!(ours.with_publishers(None), ours);
        assert_eq!(ours.with_publishers(Some(theirs)), PlayoutDelay { min: 17, max: 17 });
        let theirs = PlayoutDelay { min: 40, max: 50 };
        assert_eq!(ours.with_publishers(Some(theirs)), theirs);
    }
}
