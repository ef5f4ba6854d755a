//! The passing on of messages of data channels by the node that they arrive at.

use std::fmt::Debug;
use std::sync::Arc;

use crate::{NodeId, TransportId};

/// A participant as a sender and a receiver of messages, at the node that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageEndpoint {
    /// The transport that it receives messages on, by which it is named.
    pub transport: TransportId,
    /// The transport that it sends messages on, if that is another one.
    pub uplink: Option<TransportId>,
    /// The identity in the participant's token.
    pub identity: Arc<str>,
    /// The id of the participant's stay.
    pub sid: Arc<str>,
    /// The messages that it may send.
    pub rights: MessageRights,
    /// The number of its last reliable message that the owner knows of; 0 for none.
    pub last_sequence: u32,
    /// The place of this endpoint in the order in which the owner of the room has set them, from 1.
    pub number: u64,
}

/// A participant on another node, as a sender and a receiver of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistantEndpoint {
    /// The node that it is on.
    pub node: NodeId,
    /// The transport that it receives messages on, by which it is named.
    pub transport: TransportId,
    /// The identity in the participant's token.
    pub identity: Arc<str>,
    /// The id of the participant's stay.
    pub sid: Arc<str>,
    /// The number of its endpoint at its own node.
    pub number: u64,
}

/// The endpoints of other nodes that a message has been sent to over links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked {
    /// The nodes, each with the number above which its endpoints have not been sent the message.
    pub nodes: Vec<(NodeId, u64)>,
    /// The link to this node has failed. The controller passes the message on to its endpoints up
    /// to the number and to nobody else: it was passed on to all others before.
    pub failed: Option<FailedLink>,
}

/// A link that a message did not get over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedLink {
    /// The node at its other end.
    pub node: NodeId,
    /// The series of messages that ends with it.
    pub series: u64,
    /// The number up to which the node's endpoints may need the message.
    pub number: u64,
}

/// The messages that a participant may send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageRights {
    /// It sends messages at all.
    pub publish: bool,
    /// It is a program, which may speak for others.
    pub agent: bool,
    /// Others do not see it: its messages bear no name.
    pub hidden: bool,
}

/// A data track at the node of its publisher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataTrackRoute {
    /// The endpoint of the track's publisher.
    pub endpoint: TransportId,
    /// The publisher's handle of the track, by which its packets are known.
    pub handle: u16,
    /// The handle that receivers know.
    pub sent_as: u16,
    /// The receivers that are on this node, by the transports that they receive messages on.
    pub receivers: Vec<TransportId>,
    /// There are receivers on other nodes, whom the controller serves.
    pub elsewhere: bool,
    /// The other nodes that know the track and have receivers: its packets go there over links.
    pub nodes: Vec<NodeId>,
}

/// A data track at a node that its packets come to over a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistantTrack {
    /// The id of its publisher's stay, who is on another node.
    pub sender: Arc<str>,
    /// The handle that receivers know, which is one track's in the room.
    pub handle: u16,
    /// The receivers that are on this node, by the transports that they receive messages on.
    pub receivers: Vec<TransportId>,
}

/// Reads messages of an application protocol and writes their senders into them.
pub trait MessageProtocol: Debug + Send {
    /// Reads a message that came on a channel. `None` leaves it to the controller: it is none, or
    /// its sender may not send it.
    fn read(&self, sender: &MessageEndpoint, label: &str, payload: &[u8]) -> Option<Posted>;

    /// A packet of a data track with another handle.
    fn with_handle(&self, packet: &[u8], handle: u16) -> Arc<[u8]>;
}

/// A message that is to be passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// One with its sender in it.
    Message(SignedMessage),
    /// A packet of the data track with this handle.
    Frame {
        /// The handle that the publisher knows.
        handle: u16,
    },
}

/// A message with its sender in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedMessage {
    /// The channel that it is sent on.
    pub label: &'static str,
    /// The message as it is sent.
    pub payload: Arc<[u8]>,
    /// It has to arrive.
    pub reliable: bool,
    /// The sender's number for it; 0 for none. A sender numbers its reliable messages from 1.
    pub sequence: u32,
    /// The identities of its receivers.
    pub identities: Vec<String>,
    /// The ids of the stays of receivers. It is for everybody else if there are neither.
    pub sids: Vec<String>,
}

impl SignedMessage {
    /// It is for everybody else in the room.
    pub fn is_for_all(&self) -> bool {
        self.identities.is_empty() && self.sids.is_empty()
    }

    /// It is for the endpoint of this participant, unless that is its sender's.
    pub fn is_for(&self, identity: &str, sid: &str) -> bool {
        self.is_for_all()
            || self.identities.iter().any(|named| named == identity)
            || self.sids.iter().any(|named| named == sid)
    }
}
