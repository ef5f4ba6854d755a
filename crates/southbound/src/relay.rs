//! Calls that are relayed without mixing or selection, as those of SIP phones are: the relays
//! between addresses, and the notices about them.
//!
//! The controller of calls names local ports, each in a [`RelayCommand`] of its own, and gets
//! [`RelayNotice`]s about them. There is one [`Entry`] for each port that media arrives at. It
//! names the sources whose packets are accepted, their destination, the local port they are sent
//! from, and their protection on both sides. An entry replaces the one before it at the same
//! address.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use wire::sdp::{Fingerprint, IceCredentials};
use wire::srtp::MasterKey;

/// A command for one port.
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

/// The relay of packets that arrive at one local address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The address they arrive at; no two entries have the same.
    pub at: SocketAddr,
    /// The sources whose packets are accepted. All others are dropped and counted.
    pub accept: Accept,
    /// How they are protected.
    pub ingress_protection: Keys,
    /// The hop for RTP, or for anything else that the section carries. `None` while there is none.
    pub rtp: Option<Hop>,
    /// The hop for RTCP, which is told from RTP by its packet type where both may arrive (RFC
    /// 5761), else by the port it arrives at.
    pub rtcp: Option<Hop>,
    /// Connectivity checks that arrive are answered with these credentials, ours and theirs.
    pub checks: Option<(IceCredentials, Option<IceCredentials>)>,
    /// The clock of what the party gets, in ticks a second, by which it reports jitter. `None`
    /// where its RTCP cannot be read, because it is protected from end to end or is none.
    pub clock_rate: Option<u32>,
}

/// The way of packets to one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The address of ours they leave from.
    pub from: SocketAddr,
    /// The destination. It is ignored where the party has ICE: the address that ICE has validated
    /// applies.
    pub to: SocketAddr,
    /// How they are protected.
    pub egress_protection: Keys,
    /// Differentiated services, the whole octet.
    pub tos: Option<u8>,
}

/// The sources whose packets are accepted. A party with ICE is accepted only at its validated
/// address.
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
        /// RTCP teaches nothing: it has a port of its own, and its sender may send RTP from
        /// another.
        rtp_only: bool,
    },
}

/// The protection of packets. Packets that pass without being decrypted count as clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Not at all, or not by us.
    Clear,
    /// By SRTP with this key.
    Srtp(MasterKey),
    /// By SRTP with keys of a DTLS handshake that is to be had with the party at this port.
    Dtls {
        /// The hash that the party's certificate must have.
        fingerprint: Fingerprint,
        /// We start the handshake.
        active: bool,
        /// The party's association with that certificate: another number is another handshake (RFC
        /// 8842 section 4), which the one that starts it begins.
        association: u32,
    },
}

/// A notice about a port.
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
        /// The source's address.
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
    /// The SSRC of the last RTP packet that was forwarded, as far as the node knows it.
    pub ssrc: Option<u32>,
    /// The part of all this that was done in the kernel, or by another offload.
    pub offloaded: Offloaded,
}

/// The part of the traffic that the node's own process did not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloaded {
    /// Packets that were forwarded.
    pub packets: u64,
    /// Their bytes of UDP payload, on arrival.
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
