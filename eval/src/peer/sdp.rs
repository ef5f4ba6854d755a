//! As much SDP as two ends of the LiveKit protocol exchange: bundle, one ICE and DTLS transport, host candidates.

use std::fmt::Write as _;

/// Why a description cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdpError {
    /// The server left out something that WebRTC requires.
    Missing(&'static str),
}

/// What a media section carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Audio over RTP.
    Audio,
    /// Video over RTP.
    Video,
    /// Data channels.
    Application,
}

/// Who sends in a media section, from the writer's point of view.
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
    /// What it carries.
    pub kind: Kind,
    /// The `m=` line behind the port: protocol and formats.
    pub protocol: String,
    /// Its name in the bundle.
    pub mid: String,
    /// Whether its port is 0: refused, or stopped.
    pub rejected: bool,
    /// Who sends.
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

impl Description {
    /// Reads a description.
    ///
    /// Transport attributes may stand at the session or in any section: with bundle they are the same.
    pub fn parse(text: &str) -> Result<Self, SdpError> {
        let mut transport = Transport::default();
        let mut media: Vec<Media> = Vec::new();
        for line in text.lines().map(str::trim_end) {
            if let Some(section) = line.strip_prefix("m=") {
                media.push(parse_media_line(section)?);
            } else if let Some(attribute) = line.strip_prefix("a=") {
                let (name, value) = attribute.split_once(':').unwrap_or((attribute, ""));
                if !transport.read(name, value)
                    && let Some(section) = media.last_mut()
                {
                    section.read(name, value);
                }
            }
        }
        Ok(Self {
            ufrag: transport.ufrag.ok_or(SdpError::Missing("ice-ufrag"))?,
            password: transport.password.ok_or(SdpError::Missing("ice-pwd"))?,
            ice_lite: transport.ice_lite,
            fingerprint: transport.fingerprint.ok_or(SdpError::Missing("fingerprint"))?,
            setup: transport.setup.unwrap_or(Setup::ActPass),
            candidates: transport.candidates,
            media,
        })
    }

    /// Writes the description.
    pub fn write(&self) -> String {
        let mut out = String::with_capacity(4096);
        out.push_str("v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n");
        let bundled: String = self
            .media
            .iter()
            .filter(|media| !media.rejected)
            .map(|m| format!(" {}", m.mid))
            .collect();
        let _ = write!(
            out,
            "a=group:BUNDLE{bundled}\r\na=msid-semantic: WMS *\r\na=extmap-allow-mixed\r\n"
        );
        for media in &self.media {
            self.write_media(media, &mut out);
        }
        out
    }

    fn write_media(&self, media: &Media, out: &mut String) {
        let port = if media.rejected { 0 } else { 9 };
        let kind = match media.kind {
            Kind::Audio => "audio",
            Kind::Video => "video",
            Kind::Application => "application",
        };
        let _ = write!(out, "m={kind} {port} {}", media.protocol);
        if media.kind != Kind::Application {
            media.formats.iter().for_each(|format| {
                let _ = write!(out, " {}", format.payload_type);
            });
        }
        let _ = write!(out, "\r\nc=IN IP4 0.0.0.0\r\na=mid:{}\r\n", media.mid);
        if media.rejected {
            out.push_str("a=inactive\r\n");
            return;
        }
        let (ufrag, password, fingerprint) = (&self.ufrag, &self.password, &self.fingerprint);
        let _ = write!(
            out,
            "a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}\r\na=ice-options:trickle\r\n"
        );
        let _ = write!(out, "a=fingerprint:{fingerprint}\r\na=setup:{}\r\n", self.setup.name());
        self.candidates.iter().for_each(|candidate| {
            let _ = write!(out, "a={candidate}\r\n");
        });
        out.push_str("a=end-of-candidates\r\n");
        media.write_attributes(out);
    }
}

impl Media {
    /// A section with nothing in it yet.
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

    fn write_attributes(&self, out: &mut String) {
        if self.kind == Kind::Application {
            out.push_str("a=sctp-port:5000\r\na=max-message-size:262144\r\n");
            return;
        }
        let _ = write!(out, "a={}\r\na=rtcp-mux\r\na=rtcp-rsize\r\n", self.direction.name());
        for (id, uri) in &self.extensions {
            let _ = write!(out, "a=extmap:{id} {uri}\r\n");
        }
        for format in &self.formats {
            let pt = format.payload_type;
            let _ = write!(out, "a=rtpmap:{pt} {}\r\n", format.mapping);
            if !format.parameters.is_empty() {
                let _ = write!(out, "a=fmtp:{pt} {}\r\n", format.parameters);
            }
            for feedback in &format.feedback {
                let _ = write!(out, "a=rtcp-fb:{pt} {feedback}\r\n");
            }
        }
        self.extra.iter().for_each(|line| {
            let _ = write!(out, "a={line}\r\n");
        });
    }

    fn read(&mut self, name: &str, value: &str) {
        match name {
            "mid" => self.mid = value.into(),
            "rtpmap" => {
                if let Some((format, mapping)) = self.format_line(value) {
                    format.mapping = mapping.into();
                }
            }
            "fmtp" => {
                if let Some((format, parameters)) = self.format_line(value) {
                    format.parameters = parameters.into();
                }
            }
            "rtcp-fb" => {
                if let Some((format, feedback)) = self.format_line(value) {
                    format.feedback.push(feedback.into());
                }
            }
            "extmap" => {
                if let Some((id, uri)) = value.split_once(' ')
                    && let Ok(id) = id.split('/').next().unwrap_or_default().parse()
                {
                    self.extensions
                        .push((id, uri.split(' ').next().unwrap_or_default().into()));
                }
            }
            "ssrc-group" => {
                let mut words = value.split(' ');
                if words.next() == Some("FID")
                    && let (Some(Ok(primary)), Some(Ok(repair))) =
                        (words.next().map(str::parse), words.next().map(str::parse))
                {
                    self.repair_ssrcs.push((primary, repair));
                }
            }
            _ => {
                if let Some(direction) = Direction::from_name(name) {
                    self.direction = direction;
                }
            }
        }
    }

    /// Splits `<payload type> <rest>` and finds the format.
    fn format_line<'a>(&mut self, value: &'a str) -> Option<(&mut Format, &'a str)> {
        let (payload_type, rest) = value.split_once(' ')?;
        let payload_type: u8 = payload_type.parse().ok()?;
        Some((
            self.formats
                .iter_mut()
                .find(|format| format.payload_type == payload_type)?,
            rest,
        ))
    }
}

fn parse_media_line(line: &str) -> Result<Media, SdpError> {
    let words: Vec<&str> = line.split(' ').collect();
    let &[kind, port, protocol, ref formats @ ..] = words.as_slice() else {
        return Err(SdpError::Missing("m= fields"));
    };
    let kind = match kind {
        "audio" => Kind::Audio,
        "video" => Kind::Video,
        _ => Kind::Application,
    };
    let mut media = Media::new(kind, "", Direction::SendRecv);
    media.rejected = port == "0";
    if kind == Kind::Application {
        media.protocol = format!("{protocol} {}", formats.join(" "));
    } else {
        media.protocol = protocol.into();
        media.formats = formats
            .iter()
            .filter_map(|pt| {
                Some(Format {
                    payload_type: pt.parse().ok()?,
                    ..Format::default()
                })
            })
            .collect();
    }
    Ok(media)
}

#[derive(Default)]
struct Transport {
    ufrag: Option<String>,
    password: Option<String>,
    ice_lite: bool,
    fingerprint: Option<String>,
    setup: Option<Setup>,
    candidates: Vec<String>,
}

impl Transport {
    /// Takes the attribute if it belongs to the transport. The first value of each wins.
    fn read(&mut self, name: &str, value: &str) -> bool {
        match name {
            "ice-ufrag" => {
                self.ufrag.get_or_insert_with(|| value.into());
            }
            "ice-pwd" => {
                self.password.get_or_insert_with(|| value.into());
            }
            "ice-lite" => self.ice_lite = true,
            "fingerprint" => {
                self.fingerprint.get_or_insert_with(|| value.into());
            }
            "setup" => {
                let setup = [Setup::Active, Setup::Passive, Setup::ActPass]
                    .into_iter()
                    .find(|it| it.name() == value);
                self.setup = self.setup.or(setup);
            }
            "candidate" => {
                let candidate = format!("candidate:{value}");
                if !self.candidates.contains(&candidate) {
                    self.candidates.push(candidate);
                }
            }
            _ => return false,
        }
        true
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
    fn what_is_written_is_read() {
        let written = sample();
        let mut expected = written.clone();
        expected.media[1].extra.clear();
        expected.media[1].repair_ssrcs = vec![(1, 2)];
        assert_eq!(Description::parse(&written.write()), Ok(expected));
    }

    #[test]
    fn formats_are_found_by_codec_and_by_what_they_repair() {
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
