//! The input and the output of the state machine, and the messages between machines of a cluster.

mod passed;
mod peer;

use std::net::IpAddr;
use std::sync::Arc;

use southbound::NodeId;
use southbound::relay::{RelayCommand, RelayNotice};

pub(crate) use passed::RepeatKey;
pub use passed::{Form, PassedRequest};
pub use peer::{Malformed, PEER_VERSION, PassOutcome, PeerMessage};

/// Input of the controller.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// A proxy asks for something.
    Request(RequestId, Request<'a>),
    /// Something the media node tells.
    Notice(RelayNotice),
    /// Another machine of the cluster passes on what a proxy asked it for. The id is one of this
    /// machine's, as that of a proxy's request.
    Passed(RequestId, NodeId, Request<'a>),
    /// Something about another machine of the cluster.
    Peer(PeerEvent),
}

/// An event of the other machines that relay calls, in a cluster.
#[derive(Clone, Debug)]
pub enum PeerEvent {
    /// The machines that the cluster knows.
    Known(Vec<NodeId>),
    /// A machine is connected, or connected anew.
    Joined(NodeId),
    /// A machine could not be reached.
    Unreached(NodeId),
    /// The connection of a machine is gone.
    Left(NodeId),
    /// A machine says something. Requests that it passes on are [`Input::Passed`].
    Said(NodeId, PeerMessage),
}

/// The caller's id of a request, for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A proxy's request.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// An `ng` message with its cookie: a datagram, one of [`Stream`](crate::ng::Stream)'s, or an
    /// HTTP body.
    Ng {
        /// The sender's address, if it is known.
        from: Option<IpAddr>,
        /// The message.
        message: &'a [u8],
    },
    /// An `ng` message without a cookie.
    NgPlain(&'a [u8]),
    /// A datagram of the rtpproxy protocol, with its cookie.
    Rtpproxy {
        /// The sender's address, if it is known.
        from: Option<IpAddr>,
        /// The message.
        message: &'a [u8],
    },
    /// A command of the rtpproxy protocol without a cookie, from a stream.
    RtpproxyPlain(&'a [u8]),
}

/// Actions for the caller, to be done in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// The media node does this. Every [`RelayCommand::Open`] and every [`RelayCommand::Report`] is
    /// to be answered by an observation.
    Command(RelayCommand),
    /// A call timed out, for which notification was requested.
    Notify {
        /// The socket to tell, as the proxy named it.
        socket: String,
        /// The text to write to it.
        tag: String,
    },
    /// A requested feature of a call is not supported. Reported once for each call and name.
    Undone {
        /// The call.
        call: Arc<[u8]>,
        /// Its name, as the proxy wrote it.
        what: String,
    },
    /// The answer to a request. One without a cookie that it could have, or that was asked twice at
    /// once, is not answered.
    Reply {
        /// The request.
        to: RequestId,
        /// The answer.
        bytes: Arc<[u8]>,
    },
    /// A request that was held for other machines, or is another machine's, gets no answer.
    Unanswered(RequestId),
    /// The call of a request that another machine has passed on is not here.
    Elsewhere(RequestId),
    /// Another machine is told this.
    Peer(NodeId, PeerMessage),
}
