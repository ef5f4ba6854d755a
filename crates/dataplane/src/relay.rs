//! The fourth table: relays of datagrams that arrive at one local port, without a leg or a stream.
//!
//! A relay is for parties who have agreed on their media with each other, as those of a telephone
//! call have. Nothing is selected or renumbered; packets are forwarded as they arrive. Only their
//! addresses and their protection on each side may change.

use std::net::{IpAddr, SocketAddr};

use wire::{PacketKind, Ssrc};

use crate::{MasterKey, Path};

/// The relay of datagrams that arrive at one local port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// The sources whose packets are accepted.
    pub accept: Accept,
    /// How what arrives is protected.
    pub ingress_protection: RelayProtection,
    /// Whether ICE and DTLS end here: STUN from anybody and DTLS from an accepted source are then
    /// punted to the agent. Otherwise they are forwarded like anything else.
    pub terminated: bool,
    /// The hop for RTP and for everything else that is not RTCP. `None` while there is no
    /// destination, and always at a port for RTCP alone.
    pub rtp: Option<Hop>,
    /// The hop for RTCP, which is told from RTP by its packet type (RFC 5761).
    pub rtcp: Option<Hop>,
}

/// The sources that a relay accepts. Packets of all others are dropped as
/// [`ForeignSource`](crate::Counter::ForeignSource), and as [`NotReady`](crate::Counter::NotReady)
/// where no source is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accept {
    /// Nobody's: the port is open, so that no other program takes it, and silent.
    Nobody,
    /// This address's.
    Only(SocketAddr),
    /// Anybody's, or anybody's at one address. Each source that differs from the last reported one
    /// is reported as [`RelaySource`](crate::Event::RelaySource), so that the agent can narrow the
    /// entry to it. At a relay with keys only a party that has them is a source: a packet that does
    /// not authenticate teaches nothing.
    Learn {
        /// The only address to learn from.
        within: Option<IpAddr>,
        /// The number of the window of learning: with another number, the last reported source is
        /// reported again.
        window: u32,
        /// RTCP goes on and teaches nothing, as where RTCP has a port of its own. Some phones send
        /// it to the port for RTP, and not from where they send RTP.
        rtp_only: bool,
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

    /// Whether a datagram of this kind teaches its source.
    pub fn learns_from(&self, kind: PacketKind) -> bool {
        matches!(self, Accept::Learn { rtp_only, .. } if !(*rtp_only && kind == PacketKind::Rtcp))
    }
}

/// The protection of a relay's packets on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayProtection {
    /// By keys that are not yet agreed on: nothing is forwarded.
    Pending,
    /// None, or none by us: bytes are unchanged.
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

/// The way of a relay's packets to one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The local port they are sent from, which must be in the table too, and their destination.
    pub path: Path,
    /// How they are protected.
    pub egress_protection: RelayProtection,
    /// Differentiated services (RFC 2474) with the bits of ECN below, the whole octet; `None` for
    /// the system's.
    pub tos: Option<u8>,
}

/// The traffic of a relay since it was first written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayTraffic {
    /// Datagrams that went on.
    pub packets: u64,
    /// Their bytes of UDP payload, on arrival.
    pub bytes: u64,
    /// Datagrams that were dropped.
    pub dropped: u64,
    /// The SSRC of the last RTP packet that went on; `None` while none has. An offload that cannot
    /// tell it leaves it out.
    pub ssrc: Option<Ssrc>,
    /// The part of all this that an offload did, such as the kernel.
    pub offloaded: OffloadedTraffic,
}

/// The part of a relay's traffic that did not reach the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffloadedTraffic {
    /// Datagrams that went on.
    pub packets: u64,
    /// Their bytes of UDP payload, on arrival.
    pub bytes: u64,
    /// Datagrams that were dropped.
    pub dropped: u64,
}
