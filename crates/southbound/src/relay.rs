//! Calls that pass through unmixed and unchosen, as those of SIP phones do: what is relayed between
//! which addresses, and what is seen of it.
//!
//! Whoever controls calls names ports of ours, each in an [`RelayCommand`] of its own, and hears of
//! them in [`RelayNotice`]s. One [`Entry`] for each port that media arrives at: it says whose
//! packets are taken, where they go and from which port of ours, and how they are protected before
//! and after. An entry replaces the one before it at the same address.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use wire::sdp::{Fingerprint, IceCredentials};
use wire::srtp::MasterKey;

/// What is to be done at one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayCommand {
    /// The port is in use from now on, and silent. Answered by [`RelayNotice::Opened`] or
    /// [`RelayNotice::Refused`].
    Open(SocketAddr),
    /// The port is in use from now on, and this is done there at once: an earlier process has done
    /// it already, and where it goes on without one, as in the kernel, it must not be interrupted.
    /// Answered as [`RelayCommand::Open`] is.
    Resume(Box<Entry>),
    /// This is done there, instead of what was done at the same address.
    Install(Box<Entry>),
    /// Nothing is done there any more; the port stays in use.
    Silence(SocketAddr),
    /// It is not in use any more.
    Close(SocketAddr),
    /// How much has arrived there is to be told, in an [`RelayNotice::Traffic`].
    Report(SocketAddr),
}

/// What happens to packets that arrive at one of our addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The address they arrive at; no two entries have the same.
    pub at: SocketAddr,
    /// Whose packets are taken. All others are dropped and counted.
    pub accept: Accept,
    /// How they are protected.
    pub ingress_protection: Keys,
    /// Where RTP goes, or whatever else the section carries. `None` while there is nowhere.
    pub rtp: Option<Hop>,
    /// Where RTCP goes. It is told from RTP by its packet type where both may arrive (RFC 5761),
    /// else by where it arrives.
    pub rtcp: Option<Hop>,
    /// Connectivity checks that arrive are answered with these credentials, ours and theirs.
    pub checks: Option<(IceCredentials, Option<IceCredentials>)>,
    /// The clock of what the party gets, in ticks a second, by which it reports jitter. `None`
    /// where its RTCP cannot be read, because it is protected from end to end or is none.
    pub clock_rate: Option<u32>,
}

/// Where packets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The address of ours they leave from.
    pub from: SocketAddr,
    /// Where to. Where the party has ICE, this counts for nothing, and the address it proved itself
    /// at does.
    pub to: SocketAddr,
    /// How they are protected.
    pub egress_protection: Keys,
    /// Differentiated services, the whole octet.
    pub tos: Option<u8>,
}

/// Whose packets are taken. Where the party has ICE, only those from where it proved itself are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// This address's.
    Only(SocketAddr),
    /// Anybody's, or anybody's at this address; and each new source is to be reported as
    /// [`RelayNotice::Source`], so that the entry can be closed to all others.
    Learn {
        /// The only address to learn from.
        within: Option<IpAddr>,
        /// Another number is another window: the source that was reported last is reported again if
        /// it still sends.
        window: u32,
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

/// What is seen at a port.
#[derive(Clone, Debug, PartialEq)]
pub enum RelayNotice {
    /// It is open.
    Opened {
        /// Its address.
        at: SocketAddr,
    },
    /// It could not be opened, or is open and cannot do what was ordered.
    Refused {
        /// Its address.
        at: SocketAddr,
        /// Why.
        why: Refusal,
    },
    /// A packet came from a source that an entry learns from, other than the one before; or the
    /// party proved to be there.
    Source {
        /// The entry's address.
        at: SocketAddr,
        /// Where it came from.
        from: SocketAddr,
    },
    /// How much has arrived since the port was opened.
    Traffic {
        /// The entry's address.
        at: SocketAddr,
        /// So much.
        traffic: Traffic,
        /// How long ago the last packet came; `None` while none has. A duration, since node and
        /// controller may have different clocks.
        idle: Option<Duration>,
    },
    /// How well a stream was received, as its receiver says in RTCP.
    Quality {
        /// An address of the side that the stream arrives at.
        at: SocketAddr,
        /// The stream.
        ssrc: u32,
        /// How well.
        report: Report,
    },
}

/// Why a port does not do what was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The operating system does not give it: another program has it, or its address is none of
    /// this machine's. The operator must act where it is all ports.
    Taken,
    /// The node has as many as it can have.
    Full,
    /// The order has keys, and the node's data plane has no SRTP. The port is open and silent.
    NoSrtp,
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
