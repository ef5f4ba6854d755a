//! Messages of the link from one media node to another, by which messages of data channels reach
//! participants of the other node without the owner of their room.
//!
//! Each node makes the links to the nodes that it sends messages to. A link has a direction: the
//! node that has made it sends [`LinkMessage`]s, and the other one answers with [`LinkReply`]s.
//!
//! Messages that must arrive have the numbers 1, 2, ... of their series. A link that breaks and is
//! made again goes on with its series: the receiver says the last number that it has taken, and the
//! sender repeats those after it. When the sender has given a link up, the next one begins another
//! series.

use std::sync::Arc;

use crate::{MessageId, NodeId, TransportId, Versions};

/// A message of the node that has made a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkMessage {
    /// Begins the link in this direction.
    Hello(LinkHello),
    /// A message of a data channel.
    Message(Arc<LinkedMessage>),
}

/// The first message of the node that has made a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkHello {
    /// The versions of the southbound protocol that the node speaks.
    pub versions: Versions,
    /// The id that the node took when it started.
    pub node: NodeId,
    /// The series of the messages that follow. A later series of a node has a higher number.
    pub series: u64,
}

/// A message of a data channel for participants of the other node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedMessage {
    /// The number in its series; 0 for a message that may be lost.
    pub number: u64,
    /// The name of its room.
    pub room: Arc<str>,
    /// The number of [`Command::SetReach`](crate::Command::SetReach) under which it is sent: it is
    /// for endpoints with numbers up to this one.
    pub reach: u64,
    /// The id of its sender's stay, who is on the node that has made the link.
    pub sender: Arc<str>,
    /// Its name; `None` if it is sent again to somebody who came back.
    pub message: Option<MessageId>,
    /// The channel that it is sent on.
    pub label: Arc<str>,
    /// The message with its sender in it.
    pub payload: Arc<[u8]>,
    /// The identities of its receivers.
    pub identities: Vec<String>,
    /// The ids of the stays of receivers. It is for everybody if there are neither.
    pub sids: Vec<String>,
    /// The endpoint that it is for alone.
    pub only: Option<TransportId>,
    /// The handle of the data track that it is a packet of. The receiving node knows for whom that
    /// is, and the packet names nobody.
    pub track: Option<u16>,
}

impl LinkedMessage {
    /// Whether it must arrive.
    pub fn is_reliable(&self) -> bool {
        self.number > 0
    }
}

/// An answer of the node that a link was made to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkReply {
    /// Begins the link in this direction.
    Welcome(LinkWelcome),
    /// The messages of the series up to this number were taken, and need not be repeated.
    Taken {
        /// The number of the last one.
        number: u64,
    },
    /// All receivers of these messages have them: their senders need not wait for them.
    Delivered {
        /// The names of the messages.
        messages: Vec<MessageId>,
    },
}

/// The first message of the node that a link was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkWelcome {
    /// The versions of the southbound protocol that the node speaks.
    pub versions: Versions,
    /// The id that the node took when it started.
    pub node: NodeId,
    /// The last number of the series that the node has taken; 0 for none.
    pub taken: u64,
}
