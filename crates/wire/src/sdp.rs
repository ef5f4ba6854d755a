//! Session descriptions, as far as WebRTC uses them.
//!
//! Session-level values are copied to every media section without its own, so that a section is
//! complete by itself. Unknown attributes are left out. An unusable line or section is left out as
//! well and reported in [`LeftOut`]; the rest is valid. A description that was read, written and
//! read again is equal to itself.
//!
//! Reading is one pass in linear time, with the limits of [`limits`](crate::limits). Writing is
//! done by `sdp-types`.
//!
//! Source: RFC 8866 (SDP), RFC 8829 (what of it WebRTC uses).

mod bounded;
mod candidate;
mod feedback;
mod format;
mod inherited;
mod left_out;
mod parse;
mod section;
mod values;
mod write;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use crate::limits::DESCRIPTION_MAX;
use crate::{MediaKind, Mid, Rid, Ssrc};

pub use candidate::{Candidate, CandidateTransport};
pub use feedback::Feedback;
pub use format::{Format, Parameters};
pub use left_out::{Flaw, LeftOut};

/// An offer or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionDescription {
    /// Names the negotiation; the same in all descriptions of one side.
    pub session_id: u64,
    /// Rises with every description of one side.
    pub version: u64,
    /// The media sections that share one transport, the one whose transport it is first (RFC 8843).
    pub bundle: Vec<Mid>,
    /// The sender only answers connectivity checks (RFC 8445 section 2.5).
    pub ice_lite: bool,
    /// One-byte and two-byte header extensions may be mixed in a stream (RFC 8285 section 6).
    pub extmap_allow_mixed: bool,
    /// The media sections in the order that both sides keep for ever.
    pub sections: Vec<MediaSection>,
}

/// One `m=` line with its attributes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MediaSection {
    /// Its kind.
    pub kind: SectionKind,
    /// Its name. A section without a name gets its position. So does one with an unusable name,
    /// which counts as rejected.
    pub mid: Mid,
    /// It is refused or over: port 0 and not `bundle-only`.
    pub rejected: bool,
    /// It lives on the bundle's transport or not at all.
    pub bundle_only: bool,
    /// Transport protocol, as `UDP/TLS/RTP/SAVPF`.
    pub protocol: String,
    /// The direction of media, as seen by the writer of the description.
    pub direction: Direction,
    /// ICE user fragment and password (RFC 8839).
    pub ice: Option<IceCredentials>,
    /// ICE options, as `trickle`.
    pub ice_options: Vec<String>,
    /// Fingerprints of the sender's certificates (RFC 8122), with known hash functions.
    pub fingerprints: Vec<Fingerprint>,
    /// The side that starts DTLS (RFC 8842).
    pub setup: Option<Setup>,
    /// Addresses of the sender.
    pub candidates: Vec<Candidate>,
    /// No more candidates will follow.
    pub end_of_candidates: bool,
    /// RTP and RTCP on one port (RFC 5761).
    pub rtcp_mux: bool,
    /// RTCP packets may be sent alone (RFC 5506).
    pub rtcp_rsize: bool,
    /// Payload types, the preferred first.
    pub formats: Vec<Format>,
    /// Header extensions.
    pub extensions: Vec<Extension>,
    /// Names of encodings (RFC 8851).
    pub rids: Vec<RidLine>,
    /// Which encodings are sent and received at once (RFC 8853).
    pub simulcast: Option<Simulcast>,
    /// Media streams and tracks (RFC 8830).
    pub msids: Vec<Msid>,
    /// Attributes of single SSRCs (RFC 5576).
    pub ssrcs: Vec<SsrcLine>,
    /// SSRCs that belong together (RFC 5576).
    pub ssrc_groups: Vec<SsrcGroup>,
    /// SCTP port of data channels (RFC 8841).
    pub sctp_port: Option<u16>,
    /// The largest data-channel message its sender takes, in bytes; 0 is any (RFC 8841).
    pub max_message_size: Option<u64>,
}

impl MediaSection {
    /// A section without attributes.
    pub fn new(kind: SectionKind, mid: Mid) -> Self {
        let protocol = match kind {
            SectionKind::Data => "UDP/DTLS/SCTP",
            _ => "UDP/TLS/RTP/SAVPF",
        };
        Self {
            kind,
            mid,
            rejected: false,
            bundle_only: false,
            protocol: protocol.to_owned(),
            direction: Direction::SendRecv,
            ice: None,
            ice_options: Vec::new(),
            fingerprints: Vec::new(),
            setup: None,
            candidates: Vec::new(),
            end_of_candidates: false,
            rtcp_mux: false,
            rtcp_rsize: false,
            formats: Vec::new(),
            extensions: Vec::new(),
            rids: Vec::new(),
            simulcast: None,
            msids: Vec::new(),
            ssrcs: Vec::new(),
            ssrc_groups: Vec::new(),
            sctp_port: None,
            max_message_size: None,
        }
    }

    /// The SSRC that repairs `ssrc`, if a group states one (RFC 5576 section 4.2).
    pub fn repair_of(&self, ssrc: Ssrc) -> Option<Ssrc> {
        let groups = self.ssrc_groups.iter().filter(|group| group.semantics == "FID");
        groups
            .map(|group| group.ssrcs.as_slice())
            .find_map(|ssrcs| match ssrcs {
                [media, repair] if *media == ssrc => Some(*repair),
                _ => None,
            })
    }

    /// The SSRCs of media: all that are listed, in order, without those that only repair others.
    pub fn media_ssrcs(&self) -> Vec<Ssrc> {
        let groups = self.ssrc_groups.iter();
        let repairing = groups.filter(|group| matches!(group.semantics.as_str(), "FID" | "FEC-FR"));
        let mut known: HashSet<Ssrc> = repairing.filter_map(|group| group.ssrcs.get(1).copied()).collect();
        let mentioned = self.ssrcs.iter().map(|line| line.ssrc);
        mentioned.filter(|ssrc| known.insert(*ssrc)).collect()
    }
}

/// The kind of a media section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// RTP media.
    Media(MediaKind),
    /// Data channels (RFC 8841).
    Data,
    /// An unknown kind; it can only be refused, which needs these two parts of its line.
    Other {
        /// The first word.
        media: String,
        /// The text after the protocol.
        formats: String,
    },
}

/// The direction of media, as seen by the writer of the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Both ways.
    SendRecv,
    /// Only from the writer.
    SendOnly,
    /// Only to the writer.
    RecvOnly,
    /// Not at all for now.
    Inactive,
}

impl Direction {
    /// Whether the writer may send.
    pub const fn sends(self) -> bool {
        matches!(self, Self::SendRecv | Self::SendOnly)
    }

    /// Whether the writer may receive.
    pub const fn receives(self) -> bool {
        matches!(self, Self::SendRecv | Self::RecvOnly)
    }

    /// The attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendRecv => "sendrecv",
            Self::SendOnly => "sendonly",
            Self::RecvOnly => "recvonly",
            Self::Inactive => "inactive",
        }
    }
}

/// ICE user fragment and password (RFC 8839).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IceCredentials {
    /// 4 to 256 characters.
    pub ufrag: String,
    /// 22 to 256 characters.
    pub password: String,
}

impl fmt::Debug for IceCredentials {
    // The password authenticates checks: it has no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IceCredentials({})", self.ufrag)
    }
}

/// The side that starts the DTLS handshake (RFC 8842).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setup {
    /// The answerer chooses.
    ActPass,
    /// The writer of the description starts.
    Active,
    /// The reader of the description starts.
    Passive,
}

impl Setup {
    /// The attribute's value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActPass => "actpass",
            Self::Active => "active",
            Self::Passive => "passive",
        }
    }
}

/// A certificate's fingerprint (RFC 8122).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The hash function.
    pub hash: HashFunction,
    /// The digest: 20 to 64 bytes.
    pub digest: Vec<u8>,
}

/// The hash functions a fingerprint may use, the weakest first. RFC 8122 deprecates SHA-1, which
/// old telephones and gateways still have; it forbids MD5 and MD2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HashFunction {
    /// `sha-1`
    Sha1,
    /// `sha-224`
    Sha224,
    /// `sha-256`
    Sha256,
    /// `sha-384`
    Sha384,
    /// `sha-512`
    Sha512,
}

impl HashFunction {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sha1, Self::Sha224, Self::Sha256, Self::Sha384, Self::Sha512];

    /// The name in the attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha-1",
            Self::Sha224 => "sha-224",
            Self::Sha256 => "sha-256",
            Self::Sha384 => "sha-384",
            Self::Sha512 => "sha-512",
        }
    }

    /// Length of a digest, in bytes.
    pub const fn digest_len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha224 => 28,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

/// A negotiated header extension (RFC 8285 section 5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    /// 1 to 255.
    pub id: u8,
    /// The extension's URI, known to Weir or not. Sections that inherit it from the session share
    /// it.
    pub uri: Arc<str>,
}

/// The name of an encoding (RFC 8851).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RidLine {
    /// The name.
    pub rid: Rid,
    /// Whether the writer sends or receives it.
    pub direction: RidDirection,
    /// Its other restrictions, as text: payload types, sizes, rates.
    pub restrictions: String,
}

/// Whether the writer of a description sends or receives an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RidDirection {
    /// It sends it.
    Send,
    /// It receives it.
    Recv,
}

/// Which encodings are sent and received at once (RFC 8853). Each entry is a list of alternatives
/// as text, `~` marks a paused one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Simulcast {
    /// The encodings that the writer sends.
    pub send: Vec<String>,
    /// The encodings that the writer receives.
    pub recv: Vec<String>,
}

/// Which stream and track a section belongs to (RFC 8830).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Msid {
    /// The stream's id; `-` is none.
    pub stream: String,
    /// The track's id.
    pub track: Option<String>,
}

/// One attribute of an SSRC (RFC 5576).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SsrcLine {
    /// The SSRC.
    pub ssrc: Ssrc,
    /// Name of the attribute, as `cname`.
    pub attribute: String,
    /// Its value.
    pub value: Option<String>,
}

/// SSRCs that belong together (RFC 5576).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SsrcGroup {
    /// How: `FID` is media and its repair, `SIM` are versions of one source.
    pub semantics: String,
    /// Which.
    pub ssrcs: Vec<Ssrc>,
}

/// The reason that a description is refused. The sender of the description must act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdpError {
    /// It is longer than [`DESCRIPTION_MAX`].
    TooLong,
    /// Its first line is not `v=0`.
    NotSdp,
    /// There is more of something than the limit in [`limits`](crate::limits) for it allows.
    TooMany(&'static str),
}

impl fmt::Display for SdpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "session description of more than {DESCRIPTION_MAX} bytes"),
            Self::NotSdp => f.write_str("not a session description: the first line is not v=0"),
            Self::TooMany(what) => write!(f, "too many {what}"),
        }
    }
}

impl std::error::Error for SdpError {}
