//! Profiles of video codecs: which decoder can decode what is sent.
//!
//! Levels do not count. A browser states the level of the sizes that it asks for, and decodes more;
//! a sender keeps to the level of its own description.

use wire::Codec;
use wire::sdp::Format;

/// The profile that a format states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    /// The codec has one, or all decoders know all.
    Single,
    H264(H264Profile),
    /// Profiles of which each decoder knows its own.
    Vp9(u8),
    /// Each profile contains those with a lower number (AV1 specification, annex A.2).
    Av1(u8),
    H265 {
        profile: u8,
        /// The high tier.
        high: bool,
    },
}

/// The profile of H.264 that `profile-level-id` states, and how packets are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct H264Profile {
    class: H264Class,
    /// `profile_idc` and `profile-iop`.
    bytes: (u8, u8),
    /// Packets carry single NAL units only (RFC 6184 section 6.2). GStreamer, which states no mode,
    /// reads both.
    single_nal: bool,
}

/// The abilities of a decoder of H.264, in rising order within the first five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum H264Class {
    /// Constrained Baseline, and Baseline: encoders use the constrained part of it whatever they
    /// call it.
    Baseline,
    Main,
    High,
    High10,
    High422,
    /// High 4:4:4 Predictive, and CAVLC 4:4:4 Intra within it.
    High444,
    Extended,
    Other(u8),
}

impl H264Class {
    /// By RFC 6184 table 5. The three flags of `profile-iop` from the top say that the stream also
    /// keeps to Baseline, Main and Extended.
    fn of(idc: u8, iop: u8) -> Self {
        match idc {
            0x42 => Self::Baseline,
            0x4d if iop & 0x80 != 0 => Self::Baseline,
            0x4d => Self::Main,
            0x58 if iop & 0x80 != 0 => Self::Baseline,
            0x58 if iop & 0x40 != 0 => Self::Main,
            0x58 => Self::Extended,
            0x64 => Self::High,
            0x6e => Self::High10,
            0x7a => Self::High422,
            0xf4 | 0x2c => Self::High444,
            other => Self::Other(other),
        }
    }

    /// Whether a decoder of this class can decode all of another.
    fn contains(self, other: Self) -> bool {
        match self {
            Self::Other(_) => self == other,
            Self::Extended => matches!(other, Self::Extended | Self::Baseline),
            _ => other <= self,
        }
    }
}

/// How well a decoder suits what is sent, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It can do more.
    Contained,
    /// It is of the same profile under another name.
    Equivalent,
    /// It states the same.
    Same,
}

impl Profile {
    pub(super) fn of(format: &Format, codec: Codec) -> Self {
        let number = |name: &str, usual: u8| {
            let stated = format.parameters.value(name).map(|value| value.trim().parse());
            stated.map_or(usual, |stated| stated.unwrap_or(u8::MAX))
        };
        match codec {
            Codec::H264 => {
                let (idc, iop) = h264_bytes(format);
                Self::H264(H264Profile {
                    class: H264Class::of(idc, iop),
                    bytes: (idc, iop),
                    single_nal: format.parameters.value("packetization-mode") == Some("0"),
                })
            }
            Codec::Vp9 => Self::Vp9(number("profile-id", 0)),
            Codec::Av1 => Self::Av1(number("profile", 0)),
            Codec::H265 => Self::H265 {
                profile: number("profile-id", 1),
                high: number("tier-flag", 0) != 0,
            },
            _ => Self::Single,
        }
    }

    /// Whether, and how well, a decoder can decode what is sent in this profile.
    pub(super) fn fit(&self, decoder: &Self) -> Option<Fit> {
        if self == decoder {
            return Some(Fit::Same);
        }
        let contains = match (self, decoder) {
            (Self::H264(sent), Self::H264(known)) => {
                // A decoder of the other mode knows single NAL units as well.
                if known.single_nal && !sent.single_nal || !known.class.contains(sent.class) {
                    return None;
                }
                let is_same = known.class == sent.class;
                return Some(match (is_same, known.bytes == sent.bytes) {
                    (true, true) => Fit::Same,
                    (true, false) => Fit::Equivalent,
                    (false, _) => Fit::Contained,
                });
            }
            (Self::Av1(sent), Self::Av1(known)) => known > sent && *known <= 2,
            (
                Self::H265 { profile, high },
                Self::H265 {
                    profile: known,
                    high: tier,
                },
            ) => {
                // Main is part of Main 10 (ITU-T H.265 annex A.3), and Main tier of High tier.
                let covers = known == profile || (*profile, *known) == (1, 2);
                covers && (*tier || !*high)
            }
            _ => false,
        };
        contains.then_some(Fit::Contained)
    }

    /// Whether a decoder is of this profile, by whichever name.
    pub(super) fn is_of_class(&self, decoder: &Self) -> bool {
        match (self, decoder) {
            (Self::H264(sent), Self::H264(known)) => sent.class == known.class,
            _ => self == decoder,
        }
    }
}

/// Whether packets carry single NAL units only, as far as the format states.
pub(super) fn is_single_nal(format: &Format) -> bool {
    !matches!(format.parameters.value("packetization-mode"), Some("1"))
}

/// `profile_idc` and `profile-iop` (RFC 6184 section 8.1). A format without them is of Baseline, as
/// that section has it, and of its constrained part, as browsers have it.
fn h264_bytes(format: &Format) -> (u8, u8) {
    let level = format.parameters.value("profile-level-id").unwrap_or("42e01f");
    let byte = |at: std::ops::Range<usize>| level.get(at).and_then(|text| u8::from_str_radix(text, 16).ok());
    (byte(0..2).unwrap_or(0), byte(2..4).unwrap_or(0))
}

#[cfg(test)]
mod tests;
