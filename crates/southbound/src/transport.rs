//! The parameters of a transport: those that a session description carries, and those of a direct
//! transport, which has none.

use std::net::SocketAddr;
use std::sync::Arc;

use wire::sdp::{Fingerprint, IceCredentials};
use wire::srtp::MasterKey;
use wire::{ExtensionMap, Ssrc};

use crate::TransportId;

/// Opens a transport: from here on the agent answers its peer's connectivity checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTransport {
    /// The name of the new transport.
    pub transport: TransportId,
    /// The credentials our side of the description carries. The fragment is unique on the node: the
    /// one UDP port finds a transport by it.
    pub local: IceCredentials,
    /// Data channels our side opens as soon as SCTP is up; the peer's own are accepted in any case.
    pub channels: Vec<Channel>,
}

/// Opens a direct transport: one to a peer whose address is known, without ICE and without DTLS.
/// Two nodes of one room have one between them, a trunk. Media and RTCP are sent from here on, and
/// taken from this address alone.
///
/// Addresses, SSRCs and keys are fixed for its life. Opened again under the same name, it gets
/// other extension ids; other addresses, SSRCs or keys are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDirect {
    /// The name of the new transport.
    pub transport: TransportId,
    /// Our address: a UDP port for media of this node. Behind a 1:1 NAT it is the address that the
    /// node has announced, and the node knows at which of its own the datagrams arrive.
    pub local: SocketAddr,
    /// The peer's address, as its datagrams come from it. It must be a unicast address.
    pub remote: SocketAddr,
    /// The SSRC of the peer's RTCP, where that is about none of its streams. Together with the
    /// SSRCs of the streams it tells apart the transports of one pair of addresses: no two of them
    /// have an SSRC in common in one direction.
    pub rtcp_ssrc_in: Ssrc,
    /// The SSRC of our RTCP: what is `rtcp_ssrc_in` at the peer.
    pub rtcp_ssrc_out: Ssrc,
    /// The protection of both directions; `None` for clear RTP, between nodes that both take it.
    pub keys: Option<DirectKeys>,
    /// Header-extension ids of what the peer sends.
    pub extensions_in: ExtensionMap,
    /// Header-extension ids of what we send.
    pub extensions_out: ExtensionMap,
}

/// The keys of a direct transport, which the controller made at random: nodes have
/// `AEAD_AES_256_GCM` between them (RFC 7714). The peer has the same two the other way round.
///
/// A key seals the packets of one transport, ever: the node that seals takes no key that it has
/// sealed with before, and not one key for both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectKeys {
    /// Protects what the peer sends.
    pub ingress: MasterKey,
    /// Protects what we send.
    pub egress: MasterKey,
}

/// The peer's half of the description; sent again when it restarts ICE or renegotiates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteTransport {
    /// Credentials in the peer's description.
    pub credentials: IceCredentials,
    /// Hash of the certificate the peer must prove itself with. Several are allowed by RFC 8122;
    /// any one that matches will do.
    pub fingerprints: Vec<Fingerprint>,
    /// The role *we* play in the DTLS handshake.
    pub dtls: DtlsRole,
    /// Header-extension ids of what the peer sends, the union over the bundle's media sections (RFC
    /// 8285, RFC 8843).
    pub extensions_in: ExtensionMap,
    /// Header-extension ids of what we send. Its own map, since a media section we publish to may
    /// not have negotiated what one the peer publishes on has, although an id never means two
    /// things on one transport.
    pub extensions_out: ExtensionMap,
    /// SCTP port of the peer when data channels were negotiated (RFC 8841).
    pub sctp_port: Option<u16>,
}

/// The side that starts the DTLS handshake (RFC 8842 `a=setup`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DtlsRole {
    /// We wait for the ClientHello (`passive`).
    Server,
    /// We send it (`active`).
    Client,
}

/// A data channel our side opens (RFC 8832).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Its label, which is how both sides name it.
    pub label: Arc<str>,
    /// Whether messages arrive in the order they were sent.
    pub ordered: bool,
    /// How often a message is sent again; `None` is until it arrives.
    pub retransmits_max: Option<u16>,
    /// The stream by which the peer has the channel already, from its association with another
    /// node. Then the channel is open without a handshake as soon as SCTP is up, and our side
    /// starts SCTP whatever its role in DTLS is. Nodes take this from version 4 on.
    pub stream: Option<u16>,
}
