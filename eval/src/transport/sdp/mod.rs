//! As much SDP as two ends of the LiveKit protocol exchange: bundle, one ICE and DTLS transport,
//! host candidates.

mod read;
mod write;

/// Why a description cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdpError {
    /// The server left out something that WebRTC requires.
    Missing(&'static str),
}

/// The kind of a media section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Audio over RTP.
    Audio,
    /// Video over RTP.
    Video,
    /// Data channels.
    Application,
}

/// The direction of a media section, from the writer's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The writer sends.
    SendOnly,
    /// The writer receives.
    RecvOnly,
    /// Both do.
    SendRecv,
    /// Nobody does.
    Inactive,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::SendOnly => "sendonly",
            Self::RecvOnly => "recvonly",
            Self::SendRecv => "sendrecv",
            Self::Inactive => "inactive",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::SendOnly, Self::RecvOnly, Self::SendRecv, Self::Inactive]
            .into_iter()
            .find(|it| it.name() == name)
    }

    /// Whether the writer sends.
    pub fn sends(self) -> bool {
        matches!(self, Self::SendOnly | Self::SendRecv)
    }

    /// How a receiver that never sends answers.
    pub fn answered_by_receiver(self) -> Self {
        match self {
            Self::SendOnly | Self::SendRecv => Self::RecvOnly,
            Self::RecvOnly | Self::Inactive => Self::Inactive,
        }
    }
}

/// Which end of the DTLS handshake the writer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// The client's.
    Active,
    /// The server's.
    Passive,
    /// Either: the answerer chooses.
    ActPass,
}

impl Setup {
    fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Passive => "passive",
            Self::ActPass => "actpass",
        }
    }
}

/// One payload type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The payload type.
    pub payload_type: u8,
    /// `VP8/90000`, as in `a=rtpmap`.
    pub mapping: String,
    /// `a=fmtp` parameters, or empty.
    pub parameters: String,
    /// `a=rtcp-fb` values.
    pub feedback: Vec<String>,
}

impl Format {
    /// Whether this feedback was agreed on.
    pub fn has_feedback(&self, value: &str) -> bool {
        self.feedback.iter().any(|known| known == value)
    }

    /// Whether the format's codec has this name, in any case.
    pub fn is(&self, codec: &str) -> bool {
        self.mapping
            .split('/')
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case(codec))
    }
}

/// One `m=` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its kind.
    pub kind: Kind,
    /// The `m=` line after the port: protocol and formats.
    pub protocol: String,
    /// Its name in the bundle.
    pub mid: String,
    /// Whether its port is 0: refused, or stopped.
    pub rejected: bool,
    /// Its direction.
    pub direction: Direction,
    /// Its payload types.
    pub formats: Vec<Format>,
    /// Its header extensions: id and URI.
    pub extensions: Vec<(u8, String)>,
    /// Pairs of primary and retransmission SSRC.
    pub repair_ssrcs: Vec<(u32, u32)>,
    /// Further attribute lines, for writing only.
    pub extra: Vec<String>,
}

/// A whole description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// `a=ice-ufrag`.
    pub ufrag: String,
    /// `a=ice-pwd`.
    pub password: String,
    /// Whether the writer is an ICE-lite agent.
    pub ice_lite: bool,
    /// `a=fingerprint`, algorithm included.
    pub fingerprint: String,
    /// `a=setup`.
    pub setup: Setup,
    /// `candidate:...` strings.
    pub candidates: Vec<String>,
    /// The media sections.
    pub media: Vec<Media>,
}

impl Media {
    /// An empty section.
    pub fn new(kind: Kind, mid: &str, direction: Direction) -> Self {
        let protocol = match kind {
            Kind::Application => "UDP/DTLS/SCTP webrtc-datachannel",
            Kind::Audio | Kind::Video => "UDP/TLS/RTP/SAVPF",
        };
        Self {
            kind,
            protocol: protocol.into(),
            mid: mid.into(),
            rejected: false,
            direction,
            formats: Vec::new(),
            extensions: Vec::new(),
            repair_ssrcs: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The first format of this codec.
    pub fn format(&self, codec: &str) -> Option<&Format> {
        self.formats.iter().find(|format| format.is(codec))
    }

    /// The format that repairs `payload_type`.
    pub fn repair_format(&self, payload_type: u8) -> Option<&Format> {
        let wanted = format!("apt={payload_type}");
        self.formats
            .iter()
            .find(|f| f.is("rtx") && f.parameters.split(';').any(|p| p.trim() == wanted))
    }

    /// The id of the header extension with this URI.
    pub fn extension(&self, uri: &str) -> Option<u8> {
        self.extensions
            .iter()
            .find(|(_, known)| known == uri)
            .map(|(id, _)| *id)
    }
}

impl Description {
    /// Whether there is SCTP inside its DTLS.
    pub fn carries_channels(&self) -> bool {
        self.media
            .iter()
            .any(|media| media.kind == Kind::Application && !media.rejected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Description {
        let mut video = Media::new(Kind::Video, "1", Direction::SendOnly);
        video.formats = vec![
            Format {
                payload_type: 96,
                mapping: "VP8/90000".into(),
                parameters: String::new(),
                feedback: vec!["nack".into(), "nack pli".into()],
            },
            Format {
                payload_type: 97,
                mapping: "rtx/90000".into(),
                parameters: "apt=96".into(),
                feedback: Vec::new(),
            },
        ];
        video.extensions = vec![(4, "urn:ietf:params:rtp-hdrext:sdes:mid".into())];
        video.extra = vec!["ssrc-group:FID 1 2".into()];
        let mut stopped = Media::new(Kind::Audio, "2", Direction::Inactive);
        stopped.rejected = true;
        stopped.formats = vec![Format {
            payload_type: 111,
            ..Format::default()
        }];
        Description {
            ufrag: "abcd".into(),
            password: "0123456789012345678901".into(),
            ice_lite: false,
            fingerprint: "sha-256 AA:BB".into(),
            setup: Setup::ActPass,
            candidates: vec!["candidate:1 1 udp 2130706431 127.0.0.1 7882 typ host".into()],
            media: vec![Media::new(Kind::Application, "0", Direction::SendRecv), video, stopped],
        }
    }

    #[test]
    fn written_values_are_read_back() {
        let written = sample();
        let mut expected = written.clone();
        expected.media[1].extra.clear();
        expected.media[1].repair_ssrcs = vec![(1, 2)];
        assert_eq!(Description::parse(&written.write()), Ok(expected));
    }

    #[test]
    fn formats_are_found_by_codec_and_by_repaired_format() {
        let video = &sample().media[1];
        assert_eq!(video.format("vp8").map(|format| format.payload_type), Some(96));
        assert_eq!(video.repair_format(96).map(|format| format.payload_type), Some(97));
        assert_eq!(video.repair_format(98), None);
        assert_eq!(video.extension("urn:ietf:params:rtp-hdrext:sdes:mid"), Some(4));
    }

    #[test]
    fn a_description_without_a_transport_is_refused() {
        assert_eq!(Description::parse("v=0\r\n"), Err(SdpError::Missing("ice-ufrag")));
    }
}
