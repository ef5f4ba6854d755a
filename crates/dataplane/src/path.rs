//! The pairs of addresses that datagrams are between.

use std::net::SocketAddr;

/// A local and a remote address between which ICE has validated a peer, or that the controller has
/// named for another node.
///
/// A TCP connection is a path, too (RFC 6544): its local port is one that no datagrams arrive at.
/// A device that has such a port takes each frame of a connection as a datagram, and sends
/// datagrams as frames (RFC 4571). A device without one has nothing to send them to. Entries and
/// packets do not differ otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// Our address, as the peer reaches it.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}
