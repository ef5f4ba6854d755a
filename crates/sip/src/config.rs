//! Options of the operator.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use southbound::NodeId;
use wire::sdp::Fingerprint;

use crate::destinations::Destinations;

/// Options of the operator.
#[derive(Clone, Debug)]
pub struct Config {
    /// Interfaces for media, the first by default. rtpproxy's `I` and `E` and the names `internal`
    /// and `external` mean the first and the second name, if no interface has those names.
    pub interfaces: Vec<Interface>,
    /// The default way to learn addresses from packets.
    pub learning: Learning,
    /// How long they are learned, from the first packet after a description.
    pub learning_window: Duration,
    /// How long an answered call may be without any packet.
    pub media_timeout: Duration,
    /// The same for a call on hold.
    pub silent_timeout: Duration,
    /// How long a call may wait for its answer.
    pub offer_timeout: Duration,
    /// How long a deleted call keeps its ports and its statistics, for late answers and queries.
    pub delete_delay: Duration,
    /// The most calls; one more is refused.
    pub calls_max: usize,
    /// Hashes of the data plane's certificate, by each function that descriptions may name. DTLS is
    /// not offered without any.
    pub fingerprints: Vec<Fingerprint>,
    /// Whether the source of the SIP message is used rather than the address in the description,
    /// unless a proxy requests otherwise.
    pub sip_source: bool,
    /// Requests that a relay without codecs ignores with a warning. Any other request of that kind
    /// is refused.
    pub tolerated: Vec<Feature>,
    /// The addresses that media may be sent to.
    pub destinations: Destinations,
    /// Whether the caller takes the results of
    /// [`CallController::take_changes`](crate::CallController::take_changes).
    pub saves: bool,
    /// The id of this machine among those of a cluster that relay calls. Requests about calls of
    /// the others are passed on to them.
    pub cluster: Option<NodeId>,
}

impl Config {
    /// The defaults, which are rtpengine's but for how addresses are learned: its own default lets
    /// the last sender win.
    pub fn new(interfaces: Vec<Interface>) -> Self {
        Self {
            interfaces,
            learning: Learning::Heuristic,
            learning_window: Duration::from_secs(3),
            media_timeout: Duration::from_secs(60),
            silent_timeout: Duration::from_secs(3600),
            offer_timeout: Duration::from_secs(3600),
            delete_delay: Duration::from_secs(30),
            calls_max: 20_000,
            fingerprints: Vec::new(),
            tolerated: Vec::new(),
            sip_source: false,
            destinations: Destinations::default(),
            saves: false,
            cluster: None,
        }
    }
}

/// An address for media. An interface with an IPv4 and an IPv6 address is two of these with one
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name for proxies.
    pub name: String,
    /// Our address.
    pub address: IpAddr,
    /// The address in descriptions instead of it, when the relay is behind a NAT.
    pub advertised: Option<IpAddr>,
    /// The ports to give out. A stream takes an even one and the next.
    pub ports: RangeInclusive<u16>,
}

/// Why a configuration cannot be used. The operator must act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigRefused {
    /// There is no interface.
    NoInterface,
    /// An interface has no address of its own and none to be advertised.
    NoAddress(String),
    /// An interface has no room for a pair of ports; port 0 is none.
    NoPorts(String),
    /// Two interfaces give out the same port of the same address.
    Overlap(String, String),
}

/// How addresses are learned from packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Learning {
    /// Not at all.
    Off,
    /// From the first packet, permanently.
    Immediate,
    /// For a while; the last one stays.
    Delayed,
    /// For a while. The most likely source stays; of several equally likely ones, the first that
    /// keeps sending.
    Heuristic,
}

/// Functions that a relay without codecs does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Codecs that were not offered.
    Transcode,
    /// Packets of another length.
    Ptime,
    /// Fax over audio, or audio as fax.
    T38,
    /// Tones inserted into audio.
    InjectDtmf,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Transcode, Self::Ptime, Self::T38, Self::InjectDtmf];

    /// The operator's name for it, which is rtpengine's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transcode => "transcode",
            Self::Ptime => "ptime",
            Self::T38 => "T.38",
            Self::InjectDtmf => "inject-DTMF",
        }
    }
}
