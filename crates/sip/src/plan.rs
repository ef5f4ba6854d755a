//! What the data plane is to do, and what it tells: plain data.
//!
//! One [`Entry`] for each port of ours that media arrives at. It says whose packets are taken, where they go and from which port of
//! ours, and how they are protected before and after. An entry replaces the one before it at the same address.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use dataplane::MasterKey;
use wire::sdp::{Fingerprint, IceCredentials};

/// What happens to packets that arrive at one of our addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The address they arrive at; no two entries have the same.
    pub at: SocketAddr,
    /// Whose packets are taken. All others are dropped and counted.
    pub accept: Accept,
    /// How they are protected.
    pub opens: Keys,
    /// Where RTP goes, or whatever else the section carries. `None` while there is nowhere.
    pub rtp: Option<Hop>,
    /// Where RTCP goes. It is told from RTP by its packet type where both may arrive (RFC 5761), else by where it arrives.
    pub rtcp: Option<Hop>,
    /// Connectivity checks that arrive are answered with these credentials, ours and theirs.
    pub checks: Option<(IceCredentials, Option<IceCredentials>)>,
}

/// Where packets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The address of ours they leave from.
    pub from: SocketAddr,
    /// Where to.
    pub to: SocketAddr,
    /// How they are protected.
    pub seals: Keys,
    /// Differentiated services, the whole octet.
    pub tos: Option<u8>,
}

/// Whose packets are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// This address's.
    Only(SocketAddr),
    /// Anybody's, or anybody's at this address; and each new source is to be reported as [`Observation::Source`], so that the entry
    /// can be closed to all others.
    Learn {
        /// The only address to learn from.
        within: Option<IpAddr>,
        /// Until when; `None` until a first packet came.
        until: Option<Instant>,
    },
}

/// How packets are protected. What passes unopened is clear to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Not at all, or not by us.
    Clear,
    /// By SRTP with this key.
    Srtp(MasterKey),
    /// By SRTP with keys of a DTLS handshake that is to be had with the party at this port.
    Dtls {
        /// What the party's certificate must hash to.
        fingerprint: Fingerprint,
        /// We start the handshake.
        active: bool,
    },
}

/// What the data plane tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// A packet came from a source that an entry learns from, other than the one before.
    Source {
        /// The entry's address.
        at: SocketAddr,
        /// Where it came from.
        from: SocketAddr,
    },
    /// How much has arrived at an entry's address since it was first installed.
    Traffic {
        /// The entry's address.
        at: SocketAddr,
        /// So much.
        traffic: Traffic,
        /// When the last packet came.
        last: Option<Instant>,
    },
    /// How well a stream was received, as its receiver says in RTCP.
    Quality {
        /// The address that the stream arrives at.
        at: SocketAddr,
        /// The stream.
        ssrc: u32,
        /// How well.
        report: Report,
    },
}

/// How much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that were forwarded.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that were dropped.
    pub errors: u64,
}

/// How well a stream was received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// The part of packets that was lost since the last report, 0 to 1.
    pub loss: f64,
    /// Interarrival jitter.
    pub jitter: Duration,
    /// From its receiver to us and back, when that is known.
    pub round_trip_leg: Option<Duration>,
    /// From end to end and back, when that is known.
    pub round_trip: Option<Duration>,
}
