//! Addresses a peer may be reached at (RFC 8839 section 5.1).

use std::fmt::Write;
use std::net::SocketAddr;

/// The longest foundation and the longest name of a type, in characters.
const WORD_MAX: usize = 32;

/// An address at which UDP datagrams or TCP connections arrive. Candidates of other protocols, of
/// connections that are only made from there, or with a name in place of an address (mDNS), are not
/// read: an ICE-lite agent learns where its peer is from the peer's checks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// The same for candidates of one kind from one address.
    pub foundation: String,
    /// The greater is tried first.
    pub priority: u32,
    /// How it is reached.
    pub transport: CandidateTransport,
    /// The address.
    pub address: SocketAddr,
    /// `host`, `srflx`, `prflx` or `relay`.
    pub kind: String,
}

/// How a candidate is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CandidateTransport {
    /// By UDP.
    Udp,
    /// By a TCP connection, which the other side opens (RFC 6544).
    TcpPassive,
}

/// The component of RTP, and of everything that is multiplexed with it.
const RTP: u32 = 1;

impl Candidate {
    /// A host candidate, the `preference`th best of its agent: 0 is tried first.
    ///
    /// Source: RFC 8445 section 5.1.2.1.
    pub fn host(address: SocketAddr, preference: u16) -> Self {
        const HOST: u32 = 126;
        let local = u32::from(u16::MAX - preference);
        Self {
            foundation: (preference + 1).to_string(),
            priority: HOST << 24 | local << 8 | (256 - RTP),
            transport: CandidateTransport::Udp,
            address,
            kind: "host".to_owned(),
        }
    }

    /// A passive TCP host candidate, the `preference`th best of those of its agent, at most 8191.
    /// All UDP candidates are tried before it.
    ///
    /// Source: RFC 6544 section 4.2, with the type preference that libwebrtc has for it.
    pub fn tcp_host(address: SocketAddr, preference: u16) -> Self {
        const HOST_TCP: u32 = 90;
        const PASSIVE: u32 = 4;
        let other = 8_191_u32.saturating_sub(preference.into());
        Self {
            foundation: format!("tcp{}", preference + 1),
            priority: HOST_TCP << 24 | (PASSIVE << 13 | other) << 8 | (256 - RTP),
            transport: CandidateTransport::TcpPassive,
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
        let Some(transport) = transport(protocol, words).filter(|_| component == 1) else {
            return Some(None);
        };
        Some(Some(Self {
            foundation: foundation.to_owned(),
            priority,
            transport,
            address: SocketAddr::new(ip, port),
            kind: kind.to_owned(),
        }))
    }

    pub(super) fn write(&self) -> String {
        let (ip, port) = (self.address.ip(), self.address.port());
        let protocol = match self.transport {
            CandidateTransport::Udp => "udp",
            CandidateTransport::TcpPassive => "tcp",
        };
        let mut text = format!(
            "{} 1 {protocol} {} {ip} {port} typ {}",
            self.foundation, self.priority, self.kind
        );
        if self.kind != "host" {
            // The grammar requires a related address, whose value does not matter, so it is not
            // revealed.
            let _ = write!(text, " raddr 0.0.0.0 rport 0");
        }
        if self.transport == CandidateTransport::TcpPassive {
            text.push_str(" tcptype passive");
        }
        text
    }
}

/// The transport of a candidate, with the names and values after its type.
fn transport<'a>(protocol: &str, mut attributes: impl Iterator<Item = &'a str>) -> Option<CandidateTransport> {
    if protocol.eq_ignore_ascii_case("udp") {
        return Some(CandidateTransport::Udp);
    }
    if !protocol.eq_ignore_ascii_case("tcp") {
        return None;
    }
    while let (Some(name), Some(value)) = (attributes.next(), attributes.next()) {
        if name == "tcptype" {
            return (value == "passive").then_some(CandidateTransport::TcpPassive);
        }
    }
    None
}
