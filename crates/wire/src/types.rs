//! The numbers that name and order packets, each its own type so that none is taken for another.

use std::fmt;

/// Synchronisation source: which stream of its transport a packet belongs to.
///
/// Source: RFC 3550 section 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ssrc(pub u32);

impl fmt::Display for Ssrc {
    /// Decimal, as SDP writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// RTP payload type: the number SDP gave to a codec on one transport.
///
/// Shape: 0 to 127.
/// Source: RFC 3550 section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PayloadType(u8);

impl PayloadType {
    /// `None` when `value` does not fit the header's seven bits.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 128 { Some(Self(value)) } else { None }
    }

    /// The number, 0 to 127.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Reads the second byte of an RTP header, whose top bit is the marker.
    pub(crate) const fn from_header_byte(byte: u8) -> Self {
        Self(byte & 0x7f)
    }
}

impl fmt::Display for PayloadType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// RTP sequence number as it travels: 16 bits that wrap.
///
/// It has no `Ord` on purpose: around a wrap "less than" has no answer. Ask
/// [`distance_from`](Self::distance_from), or make numbers comparable with
/// [`Unwrapper`](crate::Unwrapper).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(pub u16);

impl SequenceNumber {
    /// How many packets after `other` this one is; negative when it is before it.
    ///
    /// Shape: -32,768 to 32,767. Exactly half the circle counts as before.
    pub const fn distance_from(self, other: Self) -> i16 {
        self.0.wrapping_sub(other.0) as i16
    }

    /// Whether this number follows `other` on the shorter way round.
    pub const fn is_newer_than(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }

    /// The number `count` packets later.
    #[must_use]
    pub const fn wrapping_add(self, count: u16) -> Self {
        Self(self.0.wrapping_add(count))
    }

    /// The number of the packet after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        self.wrapping_add(1)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// RTP timestamp as it travels: 32 bits that wrap, in units of the codec's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RtpTimestamp(pub u32);

impl RtpTimestamp {
    /// How many clock units after `other` this one is; negative when it is before it.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// The timestamp `units` of the codec's clock later.
    #[must_use]
    pub const fn wrapping_add(self, units: u32) -> Self {
        Self(self.0.wrapping_add(units))
    }
}

impl fmt::Display for RtpTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_types_have_seven_bits() {
        assert_eq!(PayloadType::new(127).map(PayloadType::get), Some(127));
        assert_eq!(PayloadType::new(128), None);
    }

    #[test]
    fn sequence_distance_goes_the_shorter_way_round() {
        assert_eq!(SequenceNumber(2).distance_from(SequenceNumber(65_534)), 4);
        assert_eq!(SequenceNumber(65_534).distance_from(SequenceNumber(2)), -4);
        assert!(!SequenceNumber(32_768).is_newer_than(SequenceNumber(0)));
        assert!(SequenceNumber(32_767).is_newer_than(SequenceNumber(0)));
    }

    #[test]
    fn timestamp_distance_wraps() {
        assert_eq!(RtpTimestamp(5).distance_from(RtpTimestamp(u32::MAX)), 6);
        assert_eq!(RtpTimestamp(u32::MAX).wrapping_add(6), RtpTimestamp(5));
    }
}
