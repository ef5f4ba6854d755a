//! The header extensions that Weir knows, their ids on a transport, and the values it reads and
//! writes.

mod map;
mod playout;
mod values;

pub use map::{ExtensionMap, ExtensionMapError};
pub use playout::PlayoutDelay;
pub use values::{AbsSendTime, AudioLevel, parse_transport_sequence};

/// A header extension, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtensionKind {
    /// Which media section a packet belongs to (RFC 9143).
    Mid,
    /// Which simulcast encoding a packet belongs to (RFC 8852).
    Rid,
    /// Which simulcast encoding a retransmission repairs (RFC 8852).
    RepairedRid,
    /// Loudness and voice activity (RFC 6464).
    AudioLevel,
    /// When the packet left its sender.
    AbsSendTime,
    /// The packet's number among all of its transport
    /// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    TransportSequence,
    /// When the frame was captured.
    AbsCaptureTime,
    /// A frame's layer and dependencies (AV1 RTP specification appendix A).
    DependencyDescriptor,
    /// How long a receiver may hold frames.
    PlayoutDelay,
    /// Rotation of the video (3GPP TS 26.114).
    VideoOrientation,
    /// Camera or screen.
    VideoContentType,
    /// Times that a frame spent in the stages of the sender.
    VideoTiming,
    /// Colour primaries, transfer and range.
    ColorSpace,
    /// Capture time against the RTP timestamp (RFC 5450).
    TimestampOffset,
    /// A frame's layer without dependencies (RFC 9626).
    FrameMarking,
    /// Which layers the sender sends now, and their rates.
    VideoLayersAllocation,
}

/// The forms of header extensions that a device reads and writes (RFC 8285 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionForms {
    /// Ids of 1 to 14, values of 1 to 16 bytes.
    pub one_byte: bool,
    /// Ids of 1 to 255, values of 0 to 255 bytes.
    pub two_byte: bool,
}

impl ExtensionForms {
    /// Both.
    pub const ALL: Self = ExtensionForms {
        one_byte: true,
        two_byte: true,
    };

    /// The greatest id that one of them can carry; 0 where there is none.
    pub const fn id_max(self) -> u8 {
        match self {
            Self { two_byte: true, .. } => u8::MAX,
            Self { one_byte: true, .. } => 14,
            _ => 0,
        }
    }
}

impl ExtensionKind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 16] = [
        Self::Mid,
        Self::Rid,
        Self::RepairedRid,
        Self::AudioLevel,
        Self::AbsSendTime,
        Self::TransportSequence,
        Self::AbsCaptureTime,
        Self::DependencyDescriptor,
        Self::PlayoutDelay,
        Self::VideoOrientation,
        Self::VideoContentType,
        Self::VideoTiming,
        Self::ColorSpace,
        Self::TimestampOffset,
        Self::FrameMarking,
        Self::VideoLayersAllocation,
    ];

    /// Whether it concerns only its sender's own transport, so that it is never forwarded.
    pub const fn is_of_transport(self) -> bool {
        matches!(
            self,
            Self::Mid | Self::Rid | Self::RepairedRid | Self::AbsSendTime | Self::TransportSequence
        )
    }

    /// The name SDP negotiates the extension by.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Mid => "urn:ietf:params:rtp-hdrext:sdes:mid",
            Self::Rid => "urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
            Self::RepairedRid => "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id",
            Self::AudioLevel => "urn:ietf:params:rtp-hdrext:ssrc-audio-level",
            Self::AbsSendTime => "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
            Self::TransportSequence => "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
            Self::AbsCaptureTime => "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time",
            Self::DependencyDescriptor => {
                "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
            }
            Self::PlayoutDelay => "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
            Self::VideoOrientation => "urn:3gpp:video-orientation",
            Self::VideoContentType => "http://www.webrtc.org/experiments/rtp-hdrext/video-content-type",
            Self::VideoTiming => "http://www.webrtc.org/experiments/rtp-hdrext/video-timing",
            Self::ColorSpace => "http://www.webrtc.org/experiments/rtp-hdrext/color-space",
            Self::TimestampOffset => "urn:ietf:params:rtp-hdrext:toffset",
            Self::FrameMarking => "urn:ietf:params:rtp-hdrext:framemarking",
            Self::VideoLayersAllocation => "http://www.webrtc.org/experiments/rtp-hdrext/video-layers-allocation00",
        }
    }

    /// The extension with this URI in SDP; `None` for unknown ones.
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.uri() == uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_uri() {
        for (position, kind) in ExtensionKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, position);
            assert_eq!(ExtensionKind::from_uri(kind.uri()), Some(kind));
        }
        assert_eq!(ExtensionKind::from_uri("urn:ietf:params:rtp-hdrext:sdes:cname"), None);
    }
}
