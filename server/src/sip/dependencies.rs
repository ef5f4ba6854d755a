//! The parts of the program that calls of SIP proxies need.

use std::net::{IpAddr, SocketAddr};

use southbound::NodeId;
use southbound::relay::RelayNotice;
use wire::sdp::Fingerprint;

use crate::cluster::relays::Relays;
use crate::media::node_link::NodeLink;
use crate::metrics::Metrics;

/// The parts that the relay needs, beside the settings.
pub(crate) struct Dependencies {
    /// Hashes of our certificate for descriptions, by each function.
    pub fingerprints: Vec<Fingerprint>,
    /// Sockets of this program that are none of a call's, beside those for proxies.
    pub services: Vec<SocketAddr>,
    /// The addresses that clients are given.
    pub node_ips: Vec<IpAddr>,
    /// The clock.
    pub clock: sip::WallClock,
    /// All the randomness there is.
    pub seed: [u8; 32],
    /// The media node. Its notices of one turn come together.
    pub node: NodeLink<Vec<RelayNotice>>,
    /// The other machines that relay calls, in a cluster, with the id of this one.
    pub cluster: Option<(NodeId, Relays)>,
    /// The measurements.
    pub metrics: Metrics,
}
