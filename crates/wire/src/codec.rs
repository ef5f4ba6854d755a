//! The parts of payloads that an SFU may read: the codec, the start of key frames, and the
//! descriptor before the frame or in a header extension.
//!
//! Nothing beyond the necessary bytes is read. End-to-end encrypted media keeps its descriptor
//! readable, not its frames.

pub mod dependency;
pub mod vp8;
pub mod vp9;

mod av1;
mod h264;
mod h265;

use std::fmt;

pub use dependency::Layer;

/// A codec Weir forwards, by the name SDP gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// RFC 7587.
    Opus,
    /// Redundant audio, in practice Opus in Opus (RFC 2198).
    Red,
    /// G.711 mu-law (RFC 3551).
    Pcmu,
    /// G.711 A-law (RFC 3551).
    Pcma,
    /// RFC 7741.
    Vp8,
    /// RFC 9628.
    Vp9,
    /// RFC 6184.
    H264,
    /// AV1 RTP specification.
    Av1,
    /// RFC 7798.
    H265,
}

/// Audio or video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// Small packets, no key frames, always sent first.
    Audio,
    /// Frames of many packets, which depend on earlier frames.
    Video,
}

impl MediaKind {
    /// The name in an SDP media line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }
}

impl fmt::Display for MediaKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Codec {
    /// Every codec, in the order of the enum.
    pub const ALL: [Self; 9] = [
        Self::Opus,
        Self::Red,
        Self::Pcmu,
        Self::Pcma,
        Self::Vp8,
        Self::Vp9,
        Self::H264,
        Self::Av1,
        Self::H265,
    ];

    /// Audio or video.
    pub const fn kind(self) -> MediaKind {
        match self {
            Self::Opus | Self::Red | Self::Pcmu | Self::Pcma => MediaKind::Audio,
            Self::Vp8 | Self::Vp9 | Self::H264 | Self::Av1 | Self::H265 => MediaKind::Video,
        }
    }

    /// Units of RTP timestamps, in hertz.
    pub const fn clock_rate(self) -> u32 {
        match self {
            Self::Opus | Self::Red => 48_000,
            Self::Pcmu | Self::Pcma => 8_000,
            Self::Vp8 | Self::Vp9 | Self::H264 | Self::Av1 | Self::H265 => 90_000,
        }
    }

    /// The encoding name, as browsers spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opus => "opus",
            Self::Red => "red",
            Self::Pcmu => "PCMU",
            Self::Pcma => "PCMA",
            Self::Vp8 => "VP8",
            Self::Vp9 => "VP9",
            Self::H264 => "H264",
            Self::Av1 => "AV1",
            Self::H265 => "H265",
        }
    }

    /// The codec of an encoding name, in any case; `None` for those Weir does not forward.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|codec| codec.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Whether a decoder without state can start at this packet.
///
/// For video that is the first packet of a key frame, or what precedes it: parameter sets count.
/// More than one packet of a key frame may be a start; decoding begins at the first one. Every
/// audio packet is a start. Malformed payloads are not.
pub fn is_key_frame_start(codec: Codec, payload: &[u8]) -> bool {
    match codec {
        Codec::Opus | Codec::Red | Codec::Pcmu | Codec::Pcma => true,
        Codec::Vp8 => vp8::is_key_frame_start(payload),
        Codec::Vp9 => vp9::is_key_frame_start(payload),
        Codec::H264 => h264::is_key_frame_start(payload),
        Codec::Av1 => av1::is_key_frame_start(payload),
        Codec::H265 => h265::is_key_frame_start(payload),
    }
}

/// Why a payload has no readable descriptor. The sender is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorError {
    /// The payload ends inside its descriptor.
    Truncated,
    /// The descriptor lists more reference frames than its format has.
    TooManyReferences,
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the payload ends inside its descriptor",
            Self::TooManyReferences => "the payload descriptor lists more than three reference frames",
        })
    }
}

impl std::error::Error for DescriptorError {}

/// A frame's picture id within its stream, in the width its sender chose.
///
/// Shape: 7 or 15 bits, each wrapping at its own width.
/// Source: RFC 7741 section 4.2; RFC 9628 section 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureId {
    /// One byte on the wire.
    Seven(u8),
    /// Two bytes on the wire, the first with its top bit set.
    Fifteen(u16),
}

impl PictureId {
    /// The number.
    pub const fn value(self) -> u16 {
        match self {
            Self::Seven(value) => value as u16,
            Self::Fifteen(value) => value,
        }
    }

    /// Another number in the same width, wrapped to fit.
    #[must_use]
    pub const fn with_value(self, value: u16) -> Self {
        match self {
            Self::Seven(_) => Self::Seven(value as u8 & 0x7f),
            Self::Fifteen(_) => Self::Fifteen(value & 0x7fff),
        }
    }

    pub(crate) fn read(reader: &mut crate::bytes::Reader<'_>) -> Option<Self> {
        let first = reader.u8()?;
        if first & 0x80 == 0 {
            return Some(Self::Seven(first));
        }
        Some(Self::Fifteen(u16::from_be_bytes([first & 0x7f, reader.u8()?])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_found_by_name_in_any_case() {
        for codec in Codec::ALL {
            assert_eq!(Codec::from_name(codec.name()), Some(codec));
            assert_eq!(Codec::from_name(&codec.name().to_lowercase()), Some(codec));
        }
        assert_eq!(Codec::from_name("rtx"), None);
    }

    #[test]
    fn every_audio_packet_is_a_start_and_no_empty_video_packet_is() {
        for codec in Codec::ALL {
            assert_eq!(
                is_key_frame_start(codec, &[]),
                codec.kind() == MediaKind::Audio,
                "{codec}"
            );
        }
    }
}
