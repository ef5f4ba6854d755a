//! The input and the output of the state machine.

use std::net::IpAddr;
use std::sync::Arc;

use southbound::relay::{RelayCommand, RelayNotice};

/// Input of the controller.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// A proxy asks for something.
    Request(RequestId, Request<'a>),
    /// Something the media node tells.
    Notice(RelayNotice),
}

/// The caller's id of a request, for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}
