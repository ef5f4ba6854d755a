//! The parameters of a transport that a session description carries.

use std::sync::Arc;

use wire::ExtensionMap;
use wire::sdp::{Fingerprint, IceCredentials};

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
}
