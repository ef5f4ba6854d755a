//! Wall-clock time as RTCP writes it.

use std::time::Duration;

/// Seconds from 1900-01-01, where NTP starts counting, to 1970-01-01, where Unix does.
const UNIX_EPOCH_SECONDS: u64 = 2_208_988_800;

/// NTP timestamp: wall-clock time in sender reports and capture times.
///
/// Shape: 32.32 fixed point, seconds since 1900 in the upper half, modulo 2^32 (the count wraps in
/// February 2036). Source: RFC 3550 section 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NtpTime(pub u64);

impl NtpTime {
    /// The timestamp of an instant given as the time since the Unix epoch.
    ///
    /// Shape: rounded to the nearest 2^-32 seconds, so that [`to_unix`](Self::to_unix) gives the
    /// same nanosecond back.
    pub fn from_unix(since_epoch: Duration) -> Self {
        let seconds = since_epoch.as_secs().wrapping_add(UNIX_EPOCH_SECONDS);
        let fraction = ((u64::from(since_epoch.subsec_nanos()) << 32) + 500_000_000) / 1_000_000_000;
        // The largest fraction, 999,999,999 ns, rounds to 2^32 - 4: there is never a carry.
        Self((seconds << 32) | fraction)
    }

    /// The time since the Unix epoch, zero for anything earlier.
    ///
    /// A timestamp with its top bit clear is read as lying after the wrap of 2036, which makes 1968
    /// to 2104 readable. Source: RFC 4330 section 3.
    pub fn to_unix(self) -> Duration {
        let seconds = self.0 >> 32;
        let era = if seconds & 0x8000_0000 == 0 { 1 << 32 } else { 0 };
        let nanoseconds = ((self.0 & 0xffff_ffff) * 1_000_000_000 + (1 << 31)) >> 32;
        let since_1900 = Duration::from_secs(seconds + era) + Duration::from_nanos(nanoseconds);
        since_1900.saturating_sub(Duration::from_secs(UNIX_EPOCH_SECONDS))
    }

    /// The middle 32 bits, which report blocks carry as "last sender report".
    ///
    /// Shape: 16.16 fixed point, in seconds, wrapping every 18 hours.
    pub const fn middle_32(self) -> u32 {
        (self.0 >> 16) as u32
    }
}

/// A span given in the 16.16 seconds of report blocks, as a `Duration`.
pub(crate) fn short_to_duration(units: u32) -> Duration {
    Duration::from_nanos((u64::from(units) * 1_000_000_000) >> 16)
}

/// A span in the 16.16 seconds of report blocks; longer than 18 hours saturates.
pub(crate) fn duration_to_short(span: Duration) -> u32 {
    u32::try_from((span.as_nanos() << 16) / 1_000_000_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_unix_epoch_is_70_years_into_ntp() {
        let epoch = NtpTime::from_unix(Duration::ZERO);
        assert_eq!(epoch, NtpTime(2_208_988_800 << 32));
        assert_eq!(epoch.to_unix(), Duration::ZERO);
    }

    #[test]
    fn middle_bits_are_as_in_the_rfc_figure() {
        // RFC 3550 section 6.4.1: 0xb705:2000 is the middle of 0xb44db705:20000000.
        assert_eq!(NtpTime(0xb44d_b705_2000_0000).middle_32(), 0xb705_2000);
    }

    #[test]
    fn short_spans_are_sixteen_sixteen() {
        assert_eq!(short_to_duration(0x0005_4000), Duration::from_millis(5250));
        assert_eq!(duration_to_short(Duration::from_millis(5250)), 0x0005_4000);
        assert_eq!(duration_to_short(Duration::from_secs(1 << 20)), u32::MAX);
    }

    proptest! {
        #[test]
        fn unix_times_survive_to_the_nanosecond(seconds in 0u64..4_000_000_000, nanos in 0u32..1_000_000_000) {
            let time = Duration::new(seconds, nanos);
            prop_assert_eq!(NtpTime::from_unix(time).to_unix(), time);
        }

        #[test]
        fn any_timestamp_can_be_read(value: u64) {
            let _ = NtpTime(value).to_unix();
        }
    }
}
