//! The owner of a DTLS association.

use std::net::SocketAddr;

use southbound::TransportId;

/// The owner of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A transport's.
    Transport(TransportId),
    /// That of the party at this port of a relayed call.
    Relay(SocketAddr),
}
