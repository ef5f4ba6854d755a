//! Addresses a peer may be reached at (RFC 8839 section 5.1).

use std::fmt::Write;
use std::net::SocketAddr;

/// A UDP host or reflexive address. Candidates of other protocols, or with a name in place of an address (mDNS), are not read:
/// an ICE-lite agent learns where its peer is from the peer's checks.
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

    pub(super) fn parse(value: &str) -> Option<Self> {
        let mut words = value.split_ascii_whitespace();
        let (foundation, component, protocol) = (words.next()?, words.next()?, words.next()?);
        let (priority, address, port) = (words.next()?, words.next()?, words.next()?);
        if component != "1" || !protocol.eq_ignore_ascii_case("udp") || words.next()? != "typ" {
            return None;
        }
        Some(Self {
            foundation: foundation.to_owned(),
            priority: priority.parse().ok()?,
            address: SocketAddr::new(address.parse().ok()?, port.parse().ok()?),
            kind: words.next()?.to_owned(),
        })
    }

    pub(super) fn write(&self) -> String {
        let (ip, port) = (self.address.ip(), self.address.port());
        let mut text = format!(
            "{} 1 udp {} {ip} {port} typ {}",
            self.foundation, self.priority, self.kind
        );
        if self.kind != "host" {
            // The grammar wants a related address here; where it is does not matter, so it is not told.
            let _ = write!(text, " raddr 0.0.0.0 rport 0");
        }
        text
    }
}
