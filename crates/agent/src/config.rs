//! Options that the operator sets.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use dataplane::{Path, Rewriting};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use southbound::{Fingerprint, HashFunction, NodeId};
use zeroize::Zeroizing;

/// How a node's agent behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// The node's id: another one each time it starts.
    pub node: NodeId,
    /// UDP addresses peers reach the node at, best first: its host candidates. With several ports,
    /// the controller has participants use them in turn.
    pub addresses: Vec<SocketAddr>,
    /// TCP addresses peers reach the node at, best first: its passive candidates. Their port is no
    /// UDP port of the node's, so that a path's local port says which of the two it uses.
    pub tcp_addresses: Vec<SocketAddr>,
    /// Behind a 1:1 NAT: for an address above, the one that this machine has in its place. The
    /// ports are the same.
    pub local_ips: BTreeMap<IpAddr, IpAddr>,
    /// The certificate that the node presents in every DTLS handshake.
    pub certificate: Certificate,
    /// Whether a peer that promises no fingerprint gets clear RTP. For laboratories only: such
    /// media is neither encrypted nor authenticated.
    pub clear_rtp: bool,
    /// Whether direct transports need no keys. Only where the operator protects the network between
    /// the nodes otherwise.
    pub clear_trunks: bool,
    /// A transport nobody has connected to within this time is closed.
    pub connect_timeout: Duration,
    /// A DTLS handshake that takes longer fails.
    pub handshake_timeout: Duration,
    /// Without a valid connectivity check for this long the peer counts as disconnected.
    pub disconnect_timeout: Duration,
    /// Without a valid connectivity check for this long consent has expired and the transport is
    /// closed (RFC 7675: 30 seconds).
    pub consent_timeout: Duration,
    /// Whether each receiver is limited to the capacity of its downlink. Without it every receiver
    /// gets everything it wants, unpaced.
    pub adaptation: bool,
    /// The policy that divides a downlink among the videos.
    pub policy: Policy,
    /// The method that keeps sequence numbers continuous when packets are left out.
    pub rewriting: Rewriting,
    /// Whether a device forwards feedback about clear media by itself, if it can.
    pub feedback: Feedback,
    /// The longest playout delay that a receiver is told for the repair of losses; zero turns this
    /// off.
    pub playout_delay_max: Duration,
    /// The most videos sent to one receiver at a time; 0 is no limit. Screens, prioritised videos
    /// and the latest speakers come first.
    pub last_n: usize,
}

/// The addresses of a node, where they change: [`Config`] describes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAddresses {
    /// Those for media over UDP.
    pub udp: Vec<SocketAddr>,
    /// Those for media over TCP.
    pub tcp: Vec<SocketAddr>,
    /// Those that this machine has in place of others.
    pub local_ips: BTreeMap<IpAddr, IpAddr>,
}

/// How a downlink is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// By utility for each bit: [`allocation::Allocator`].
    #[default]
    Utility,
    /// An equal share for each video, and fixed rates at which it gets another target:
    /// [`allocation::Thresholds`]. To compare with.
    Thresholds,
}

/// The side that tells publishers of clear media about their receivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feedback {
    /// The agent, by RTCP of its own.
    #[default]
    Terminated,
    /// A device that forwards RTCP: the estimates of a publisher's best receiver, if these are
    /// about no other publisher. The agent tells the rest.
    Proxied,
}

impl Config {
    /// The defaults, reached at `addresses`.
    pub fn new(addresses: Vec<SocketAddr>, certificate: Certificate) -> Self {
        Config {
            node: NodeId(0),
            addresses,
            tcp_addresses: Vec::new(),
            local_ips: BTreeMap::new(),
            certificate,
            clear_rtp: false,
            clear_trunks: false,
            connect_timeout: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(20),
            disconnect_timeout: Duration::from_secs(10),
            consent_timeout: Duration::from_secs(30),
            adaptation: true,
            policy: Policy::Utility,
            rewriting: Rewriting::Exact,
            feedback: Feedback::Terminated,
            playout_delay_max: Duration::from_millis(400),
            last_n: 0,
        }
    }

    /// The address at which datagrams to this one arrive: another behind a 1:1 NAT.
    pub(crate) fn arrival_address(&self, address: SocketAddr) -> SocketAddr {
        let ip = self.local_ips.get(&address.ip()).copied();
        SocketAddr::new(ip.unwrap_or(address.ip()), address.port())
    }

    /// Whether a path is a TCP connection.
    pub(crate) fn is_tcp(&self, path: &Path) -> bool {
        self.tcp_addresses
            .iter()
            .any(|address| address.port() == path.local.port())
    }
}

/// A self-signed ECDSA P-256 certificate with its private key. One for each process: peers trust it
/// by its fingerprint, which the controller puts into every description.
#[derive(Clone)]
pub struct Certificate {
    /// X.509, DER.
    pub(crate) der: Vec<u8>,
    /// PKCS #8, DER.
    pub(crate) key: Zeroizing<Vec<u8>>,
}

/// A certificate could not be made: the operating system gave no randomness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateError(String);

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no certificate could be made: {}", self.0)
    }
}

impl std::error::Error for CertificateError {}

impl Certificate {
    /// Makes a new one.
    pub fn generate() -> Result<Self, CertificateError> {
        let failed = |error: rcgen::Error| CertificateError(error.to_string());
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "WebRTC");
        // Firefox takes no two certificates of one issuer with the same serial number.
        params.serial_number = Some(rand::random::<[u8; 16]>().to_vec().into());
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Certificate {
            der: certificate.der().to_vec(),
            key: Zeroizing::new(key.serialize_der()),
        })
    }

    /// Its SHA-256 fingerprint (RFC 8122).
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint_by(HashFunction::Sha256)
    }

    /// Its fingerprints by all hash functions that descriptions name, as some peers know only some.
    pub fn fingerprints(&self) -> [Fingerprint; HashFunction::ALL.len()] {
        HashFunction::ALL.map(|hash| self.fingerprint_by(hash))
    }

    fn fingerprint_by(&self, hash: HashFunction) -> Fingerprint {
        Fingerprint {
            hash,
            digest: crate::digest::digest(hash, &self.der),
        }
    }
}

impl fmt::Debug for Certificate {
    // The private key has no place in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({:x?})", self.fingerprint().digest)
    }
}
