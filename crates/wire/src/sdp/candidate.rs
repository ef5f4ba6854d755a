//! Addresses a peer may be reached at (RFC 8839 section 5.1).

use std::fmt::Write;
use std::net::SocketAddr;

/// The longest foundation and the longest name of a type, in characters.
const WORD_MAX: usize = 32;

/// A UDP host or reflexive address. Candidates of other protocols, or with a name in place of an
/// address (mDNS), are not read: an ICE-lite agent learns where its peer is from the peer's checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// The same for candidates of one kind from one address.
    pub foundation: String,
    /// The greater is tried first.
    pub priority: u32,
    /// The address.
    pub address: SocketAddr,
    /// `host`, `srflx`, `prflx` or `relay`.
    pub kind: String,
}

impl Candidate {
    /// A host candidate, the `preference`th best of its agent: 0 is tried first.
    ///
    /// Source: RFC 8445 section 5.1.2.1.
    pub fn host(address: SocketAddr, preference: u16) -> Self {
        const HOST: u32 = 126;
        const RTP: u32 = 1;
        let local = u32::from(u16::MAX - preference);
        Self {
            foundation: (preference + 1).to_string(),
            priority: HOST << 24 | local << 8 | (256 - RTP),
            address,
            kind: "host".to_owned(),
        }
    }

    /// `None` when it is malformed; an empty inner option when it is none that is read.
    pub(super) fn parse(value: &str) -> Option<Option<Self>> {
        let mut words = value.split_ascii_whitespace();
        let (foundation, component, protocol) = (words.next()?, words.next()?, words.next()?);
        let (priority, address, port) = (words.next()?, words.next()?, words.next()?);
        let component: u16 = component.parse().ok()?;
        let (priority, port) = (priority.parse().ok()?, port.parse().ok()?);
        if words.next()? != "typ" {
            return None;
        }
        let kind = words.next()?;
        if foundation.len() > WORD_MAX || kind.len() > WORD_MAX {
            return None;
        }
        let Ok(ip) = address.parse() else {
            return Some(None);
        };
        let is_read = component == 1 && protocol.eq_ignore_ascii_case("udp");
        Some(is_read.then(|| Self {
            foundation: foundation.to_owned(),
            priority,
            address: SocketAddr::new(ip, port),
            kind: kind.to_owned(),
        }))
    }

    pub(super) fn write(&self) -> String {
        let (ip, port) = (self.address.ip(), self.address.port());
        let mut text = format!(
            "{} 1 udp {} {ip} {port} typ {}",
            self.foundation, self.priority, self.kind
        );
        if self.kind != "host" {
            // The grammar requires a related address, whose value does not matter, so it is not
            // revealed.
            let _ = write!(text, " raddr 0.0.0.0 rport 0");
        }
        text
    }
}
