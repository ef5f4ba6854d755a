//! The extension values an SFU reads or stamps itself; all others it passes on as bytes.

use std::time::Duration;

use crate::NtpTime;

/// Loudness of one audio packet.
///
/// Source: RFC 6464 section 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioLevel {
    /// The sender thinks this is speech.
    pub voice: bool,
    /// Shape: 0 to 127, in -dBov: 0 is the loudest, 127 is silence.
    pub level: u8,
}

impl AudioLevel {
    /// Reads an extension value; `None` unless it is one byte.
    pub fn parse(value: &[u8]) -> Option<Self> {
        match value {
            [byte] => Some(Self {
                voice: byte & 0x80 != 0,
                level: byte & 0x7f,
            }),
            _ => None,
        }
    }

    /// The extension value; a level above 127 is written as silence.
    pub fn to_bytes(self) -> [u8; 1] {
        [u8::from(self.voice) << 7 | self.level.min(127)]
    }
}

/// When a packet left its sender, so that a receiver can measure delay changes.
///
/// Shape: 24 bits, 6.18 fixed-point seconds, wrapping every 64 seconds.
/// Source: the webrtc.org `abs-send-time` experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsSendTime(u32);

impl AbsSendTime {
    /// The part of a wall-clock time that fits.
    pub const fn from_ntp(time: NtpTime) -> Self {
        Self((time.0 >> 14) as u32 & 0x00ff_ffff)
    }

    /// Reads an extension value; `None` unless it is three bytes.
    pub fn parse(value: &[u8]) -> Option<Self> {
        match *value {
            [a, b, c] => Some(Self(u32::from_be_bytes([0, a, b, c]))),
            _ => None,
        }
    }

    /// The extension value.
    pub const fn to_bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    /// The 24 bits, in units of 2^-18 seconds.
    pub const fn units(self) -> u32 {
        self.0
    }

    /// How long after `earlier` this is, taking at most one wrap into account.
    pub fn since(self, earlier: Self) -> Duration {
        let units = self.0.wrapping_sub(earlier.0) & 0x00ff_ffff;
        Duration::from_nanos((u64::from(units) * 1_000_000_000) >> 18)
    }
}

/// Reads a transport-wide sequence number; `None` unless the value is two bytes. To write one, take
/// its big-endian bytes.
pub fn parse_transport_sequence(value: &[u8]) -> Option<u16> {
    value.try_into().ok().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audio_levels_are_a_flag_and_seven_bits() {
        assert_eq!(AudioLevel::parse(&[0x9e]), Some(AudioLevel { voice: true, level: 30 }));
        for byte in 0..=255 {
            assert_eq!(AudioLevel::parse(&[byte]).unwrap().to_bytes(), [byte]);
        }
        assert_eq!(
            AudioLevel {
                voice: false,
                level: 200
            }
            .to_bytes(),
            [127]
        );
        assert_eq!(AudioLevel::parse(&[]), None);
    }

    #[test]
    fn send_times_keep_six_bits_of_seconds() {
        let time = AbsSendTime::from_ntp(NtpTime::from_unix(Duration::from_millis(1_500)));
        // The Unix epoch is a whole multiple of 64 seconds into NTP: 2,208,988,800 = 64 *
        // 34,515,450.
        assert_eq!(time.units(), 3 << 17);
        assert_eq!(time.to_bytes(), [0x06, 0x00, 0x00]);
        assert_eq!(AbsSendTime::parse(&time.to_bytes()), Some(time));
        assert_eq!(AbsSendTime::parse(&[1, 2]), None);
    }

    #[test]
    fn send_times_wrap_after_64_seconds() {
        let before = AbsSendTime::from_ntp(NtpTime(63 << 32));
        let after = AbsSendTime::from_ntp(NtpTime(65 << 32));
        assert_eq!(after.since(before), Duration::from_secs(2));
    }

    #[test]
    fn transport_sequences_are_two_bytes() {
        assert_eq!(parse_transport_sequence(&[0x12, 0x34]), Some(0x1234));
        assert_eq!(parse_transport_sequence(&[0x12, 0x34, 0x56, 0x78]), None);
    }
}
