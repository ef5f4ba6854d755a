//! The fourth table: what becomes of what arrives at one port of ours, with no leg and no stream to
//! it.
//!
//! A relay is for parties who have agreed on their media with each other, as those of a telephone
//! call have: nothing is chosen or renumbered for anybody, packets go on as they come. What may
//! change is between whom they pass, and how they are protected on each side.

use std::net::{IpAddr, SocketAddr};

use crate::{MasterKey, Path};

/// What becomes of what arrives at one port of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Whose packets are taken.
    pub accept: Accept,
    /// How what arrives is protected.
    pub ingress_protection: RelayProtection,
    /// ICE and DTLS end here: STUN, from anybody, and DTLS, from who is accepted, are the agent's.
    /// Otherwise they pass like anything else.
    pub terminated: bool,
    /// Where RTP, and whatever else is not RTCP, goes. `None` while there is nowhere, and always at
    /// a port for RTCP alone.
    pub rtp: Option<Hop>,
    /// Where RTCP goes. It is told from RTP by its packet type (RFC 5761).
    pub rtcp: Option<Hop>,
}

/// Whose packets a relay takes. All others are dropped as
/// [`ForeignSource`](crate::Counter::ForeignSource), and as [`NotReady`](crate::Counter::NotReady)
/// where nobody's are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accept {
    /// Nobody's: the port is open, so that nobody else has it, and silent.
    Nobody,
    /// This address's.
    Only(SocketAddr),
    /// Anybody's, or anybody's at one address. Each source that is not the one told last is told as
    /// [`RelaySource`](crate::Event::RelaySource), so that the agent can narrow the entry to it.
    /// Where the relay has keys to open with, only who has them is a source: of what does not open,
    /// nothing is learned.
    Learn {
        /// The only address to learn from.
        within: Option<IpAddr>,
        /// Another number is another window of learning: the source told last is told again.
        window: u32,
    },
}

impl Accept {
    /// Whether a datagram from there is taken.
    pub fn takes(&self, from: SocketAddr) -> bool {
        match self {
            Accept::Nobody => false,
            Accept::Only(source) => *source == from,
            Accept::Learn { within, .. } => within.is_none_or(|ip| ip == from.ip()),
        }
    }
}

/// How packets of a relay are protected on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayProtection {
    /// By keys that are not agreed yet: nothing passes.
    Pending,
    /// Not at all, or not by us: bytes are as they are.
    Clear,
    /// By SRTP and SRTCP with this key.
    Srtp(MasterKey),
}

impl RelayProtection {
    /// The key, where there is one.
    pub fn key(&self) -> Option<&MasterKey> {
        match self {
            RelayProtection::Pending | RelayProtection::Clear => None,
            RelayProtection::Srtp(key) => Some(key),
        }
    }
}

/// Where packets of a relay go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The port of ours they leave from, which must be in the table, too, and where to.
    pub path: Path,
    /// How they are protected.
    pub egress_protection: RelayProtection,
    /// Differentiated services (RFC 2474) with the bits of ECN below, the whole octet; `None` for
    /// the system's.
    pub tos: Option<u8>,
}
