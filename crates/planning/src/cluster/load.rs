//! The streams of one publisher, and the part of them that a viewer gets.

use super::{ClusterError, within};
use crate::limits::{AUDIO_BITS, AUDIO_PACKETS, VIDEO_BITS_MAX, VIDEO_PACKET_BYTES};

/// Encodings of one publisher, at most.
const ENCODINGS_MAX: usize = 8;

/// One encoding of a publisher's video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// Bits in a second of it.
    pub bits: u64,
    /// The share of viewers that get it.
    pub percent: u64,
}

/// All that one publisher sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encodings {
    all: Vec<Encoding>,
    has_audio: bool,
}

/// Bits and packets of a second. Packets are in parts of 1 / (8 [`VIDEO_PACKET_BYTES`] 100), in
/// which every share of every rate is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rate {
    bits: u128,
    packets: u128,
}

/// Hundredths, so that shares are whole.
const PERCENT: u128 = 100;
const PARTS: u128 = 8 * VIDEO_PACKET_BYTES as u128 * PERCENT;

impl Encodings {
    /// Reads `KBITS:PERCENT,...`, such as `1500:50,500:30,150:20`.
    ///
    /// Errors: it is written differently, a number is out of its range, or the shares are not the
    /// whole.
    pub fn parse(text: &str, has_audio: bool) -> Result<Self, ClusterError> {
        let form = "`encodings` are kbit/s and the percentage of viewers, such as 1500:50,500:30,150:20";
        let unreadable = |part: &str| ClusterError(format!("{form}, and not \"{part}\""));
        let encoding = |part: &str| {
            let (kbits, percent) = part.split_once(':').ok_or_else(|| unreadable(part))?;
            let [kbits, percent] = [kbits, percent].map(|number| number.trim().parse::<u64>().ok());
            let (kbits, percent) = kbits.zip(percent).ok_or_else(|| unreadable(part))?;
            within("rate of an encoding", kbits, VIDEO_BITS_MAX / 1_000)?;
            Ok(Encoding {
                bits: kbits * 1_000,
                percent,
            })
        };
        let all = text.split(',').map(encoding).collect::<Result<Vec<_>, _>>()?;
        within("number of encodings", all.len() as u64, ENCODINGS_MAX as u64)?;
        let sum = all
            .iter()
            .fold(0_u64, |sum, encoding| sum.saturating_add(encoding.percent));
        match sum {
            100 => Ok(Encodings { all, has_audio }),
            _ => Err(ClusterError(format!(
                "the shares of `encodings` add up to {sum} %, and not to 100 %"
            ))),
        }
    }

    /// How many streams there are.
    pub(super) fn streams(&self) -> u64 {
        self.all.len() as u64 + u64::from(self.has_audio)
    }

    /// How many tracks a viewer gets.
    pub(super) fn tracks(&self) -> u64 {
        1 + u64::from(self.has_audio)
    }

    /// Everything, as it arrives of the publisher and as a trunk carries it.
    pub(super) fn whole(&self) -> Rate {
        self.rate(|_| PERCENT)
    }

    /// The average of all viewers.
    pub(super) fn viewed(&self) -> Rate {
        self.rate(|encoding| encoding.percent.into())
    }

    fn rate(&self, share: impl Fn(&Encoding) -> u128) -> Rate {
        let shared = |encoding: &Encoding| u128::from(encoding.bits) * share(encoding);
        let video: u128 = self.all.iter().map(shared).sum();
        let audio = u128::from(self.has_audio);
        Rate {
            bits: video + audio * u128::from(AUDIO_BITS) * PERCENT,
            packets: video + audio * u128::from(AUDIO_PACKETS) * PARTS,
        }
    }

    /// A description in words.
    pub(super) fn describe(&self) -> String {
        let rate = |encoding: &Encoding| format!("{} kbit/s to {} %", encoding.bits / 1_000, encoding.percent);
        let all: Vec<_> = self.all.iter().map(rate).collect();
        let audio = if self.has_audio { ", and audio" } else { "" };
        format!("{}{audio}", all.join(", "))
    }
}

impl Rate {
    /// Bits a second, rounded up.
    pub(super) fn bits(self) -> u64 {
        whole(self.bits.div_ceil(PERCENT))
    }

    /// Nanoseconds a second, where a packet costs so much; rounded up.
    pub(super) fn nanoseconds(self, packet: u64) -> u64 {
        whole((self.packets * u128::from(packet)).div_ceil(PARTS))
    }
}

/// As far as the number has room: what is so large is beyond every supply.
pub(super) fn whole(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
