//! Links with other nodes: numbers, acknowledgements and what is repeated.
//!
//! [`early`] keeps what comes too early for a room, [`outgoing`] has the links that this node
//! makes, and [`incoming`] those that are made to it. Packets of data tracks that wait for a link
//! are in a [`PacketQueue`]. Sockets are the caller's: it says when a link
//! is connected, and carries what is to be sent.

pub(super) mod early;
pub(super) mod incoming;
pub(super) mod outgoing;
mod packets;

pub use packets::PacketQueue;
use southbound::{LinkMessage, LinkReply, NodeId};

/// The links of a node at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFigures {
    /// Links to other nodes that messages go over.
    pub to: usize,
    /// Links of other nodes to this one.
    pub from: usize,
    /// Bytes of messages that other nodes have not taken.
    pub untaken_bytes: usize,
    /// Bytes of messages that came over links and wait.
    pub waiting_bytes: usize,
}

/// One thing to do with a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkOutput {
    /// Sends a message on the link to a node. One that has no number may be dropped.
    Send(NodeId, LinkMessage),
    /// Answers on the link of a node.
    Reply(NodeId, LinkReply),
    /// Ends the connection of the link to a node; it may be made again.
    Reset(NodeId),
    /// Ends the connection of the link from a node, which broke the protocol.
    Cut(NodeId),
}
