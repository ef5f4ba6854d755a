//! Session descriptions in SIP: parsed leniently, rewritten in place.
//!
//! `wire::sdp` understands a WebRTC description and writes one of its own. A relay must not: phones
//! send unknown lines, in orders that no grammar allows, and the other phone understands them. So
//! here a description stays a list of its lines. Only the values that a relay needs are parsed, and
//! only their lines are replaced.
//!
//! Source: RFC 8866 (SDP), RFC 3264 (offer and answer), RFC 3605 (`a=rtcp`), RFC 4568 (`a=crypto`),
//! RFC 8122 (`a=fingerprint`), RFC 8839 (ICE).

mod codecs;
mod crypto;
mod parse;
mod rewrite;

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use wire::sdp::{Direction, Fingerprint, IceCredentials, Setup};

pub use codecs::CodecPolicy;
pub(crate) use codecs::{TELEPHONE_CLOCK, has_packet_time};
pub use crypto::{Crypto, CryptoForm};
pub(crate) use crypto::{SUITES, suite_name};
pub use rewrite::{Attributes, Candidate, Rewrite, SectionRewrite};

/// A description: the lines before the first `m=` line, and the media sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description<'a> {
    /// The lines before the first section.
    pub lines: Vec<Line<'a>>,
    /// The media sections.
    pub sections: Vec<Section<'a>>,
    /// The sender only answers connectivity checks.
    pub ice_lite: bool,
}

impl Description<'_> {
    /// The first address that it names for media.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.sections.iter().find_map(|section| section.address)
    }

    /// All of it, unchanged.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let sections = self.sections.iter().flat_map(|section| &section.lines);
        self.lines
            .iter()
            .chain(sections)
            .flat_map(|line| line.raw)
            .copied()
            .collect()
    }
}

/// One line, unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// All of it, with how it ends.
    pub raw: &'a [u8],
    /// The letter before `=`; 0 when there is none.
    pub letter: u8,
    /// The text after `=`, without the end of line; empty when it is not UTF-8.
    pub value: &'a str,
}

impl<'a> Line<'a> {
    /// The name and value of an attribute.
    pub fn attribute(&self) -> Option<(&'a str, &'a str)> {
        (self.letter == b'a').then(|| self.value.split_once(':').unwrap_or((self.value, "")))
    }
}

/// A media section: its lines, and the values that a relay needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Its lines, `m=` first.
    pub lines: Vec<Line<'a>>,
    /// Its media type, as `audio`.
    pub media: &'a str,
    /// The sender's port for it; 0 when the sender does not want it.
    pub port: u16,
    /// Transport protocol, as `RTP/AVP`.
    pub protocol: &'a str,
    /// The text after the protocol.
    pub formats: &'a str,
    /// The address of its own `c=` line or the session's, if that is a number.
    pub address: Option<IpAddr>,
    /// Which way media flows, seen from the sender.
    pub direction: Direction,
    /// The sender's port and address for RTCP, if it states them.
    pub rtcp: Option<(u16, Option<IpAddr>)>,
    /// RTP and RTCP may share a port.
    pub rtcp_mux: bool,
    /// The section's name.
    pub mid: Option<&'a str>,
    /// SDES keys, in order of preference.
    pub cryptos: Vec<Crypto>,
    /// The hash of its certificate.
    pub fingerprint: Option<Fingerprint>,
    /// Its name for its DTLS association (RFC 8842 section 4).
    pub tls_id: Option<&'a str>,
    /// The side that starts DTLS.
    pub setup: Option<Setup>,
    /// ICE user fragment and password.
    pub ice: Option<IceCredentials>,
    /// Its ICE only answers checks (RFC 8445 section 2.5).
    pub ice_lite: bool,
    /// It is wanted on the first section's port or not at all (RFC 8843).
    pub bundle_only: bool,
}

/// How a section's media is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keying {
    /// None, or one known only to the two ends.
    Plain,
    /// SRTP with keys in the description (RFC 4568).
    Sdes,
    /// SRTP with keys from a DTLS handshake (RFC 5764).
    Dtls,
}

impl Keying {
    /// The keying that a transport protocol implies. `RTP/SAVP` may mean both; it is DTLS when
    /// there is a fingerprint and no key.
    pub fn of(protocol: &str, has_crypto: bool, has_fingerprint: bool) -> Self {
        let protocol = protocol.to_ascii_uppercase();
        if protocol.contains("TLS") {
            Self::Dtls
        } else if !protocol.contains("SAVP") {
            Self::Plain
        } else if has_fingerprint && !has_crypto {
            Self::Dtls
        } else {
            Self::Sdes
        }
    }
}

impl Section<'_> {
    /// How its media is protected, or may be where that is left to the answer.
    pub fn keying(&self) -> Keying {
        let protocol = if self.is_opportunistic() {
            "RTP/SAVP"
        } else {
            self.protocol
        };
        Keying::of(protocol, !self.cryptos.is_empty(), self.fingerprint.is_some())
    }

    /// Whether an offer has keys or a fingerprint with a protocol without protection, so that an
    /// answer may accept or decline them (RFC 8643).
    pub fn is_opportunistic(&self) -> bool {
        let has_keys = !self.cryptos.is_empty() || self.fingerprint.is_some();
        has_keys && self.is_rtp() && Keying::of(self.protocol, false, false) == Keying::Plain
    }

    /// Whether its protocol demands protection, and its description names neither keys nor a
    /// certificate: the two ends have them by other means, such as MIKEY (RFC 3830, RFC 4567).
    pub fn has_other_keys(&self) -> bool {
        self.keying() == Keying::Sdes && !self.says("crypto")
    }

    /// Whether one of its own lines is an attribute of that name.
    fn says(&self, name: &str) -> bool {
        let mut own = self.lines.iter().filter_map(Line::attribute);
        own.any(|(own, _)| own == name)
    }

    /// Whether it carries RTP, and so has RTCP beside it.
    pub fn is_rtp(&self) -> bool {
        self.protocol.to_ascii_uppercase().contains("RTP/")
    }

    /// Whether it can be relayed: it is over UDP, with any protocol on top.
    pub fn is_datagrams(&self) -> bool {
        let protocol = self.protocol.to_ascii_uppercase();
        self.is_rtp() && !protocol.starts_with("TCP") || protocol.starts_with("UDP") || protocol == "UDPTL"
    }
}

/// The reason that a description is refused. The sender of the description must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdpRefused {
    /// It does not begin with `v=0`.
    NotSdp,
    /// A media section has no readable `m=` line.
    Section,
    /// It has more than [`SECTIONS_MAX`](crate::limits::SECTIONS_MAX) sections.
    TooManySections,
}
