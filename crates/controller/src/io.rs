//! What goes into the controller and what comes out.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use southbound::{Command, Notice};

use crate::livekit::{Admission, Received};

/// One signalling connection: a WebSocket. The program hands the names out and never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// An admitted request was upgraded to a WebSocket.
    Open {
        /// The new connection.
        connection: ConnectionId,
        /// What the request was admitted as.
        admission: Box<Admission>,
    },
    /// A message arrived.
    Message {
        /// On which connection.
        connection: ConnectionId,
        /// The message, read by the connection's [`Inbox`](crate::livekit::Inbox).
        message: Box<Received>,
    },
    /// A connection ended, whoever ended it. Said once for every connection that was opened, also for those we closed.
    Closed {
        /// Which connection.
        connection: ConnectionId,
    },
    /// The agent noticed something.
    Notice(Notice),
}

/// A WebSocket message. A clone is the same memory, so that what is said to many is there once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Protobuf.
    Binary(Bytes),
    /// The JSON form of the same.
    Text(Arc<str>),
}

impl Frame {
    /// Size in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Binary(bytes) => bytes.len(),
            Self::Text(text) => text.len(),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send a message.
    Send {
        /// On which connection.
        connection: ConnectionId,
        /// The message.
        frame: Frame,
    },
    /// Close a connection after what was sent before. Only code 1000 tells a client not to come back.
    Close {
        /// Which connection.
        connection: ConnectionId,
        /// WebSocket close code (RFC 6455 section 7.4).
        code: u16,
        /// For whoever debugs the client.
        reason: &'static str,
    },
    /// Tell the agent.
    Command(Command),
    /// Something to count.
    Count(Counter),
    /// Something to log.
    Event(Event),
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A room was created.
    RoomStarted {
        /// Its name.
        room: String,
    },
    /// A room was removed.
    RoomFinished {
        /// Its name.
        room: String,
    },
    /// A participant's session began.
    Joined {
        /// The room's name.
        room: String,
        /// Who.
        identity: String,
        /// Which connection.
        connection: ConnectionId,
    },
    /// A participant came back on a new connection.
    Resumed {
        /// The room's name.
        room: String,
        /// Who.
        identity: String,
        /// The new connection.
        connection: ConnectionId,
    },
    /// A participant is gone.
    Left {
        /// The room's name.
        room: String,
        /// Who.
        identity: String,
        /// Why: the protocol's name for it.
        reason: &'static str,
    },
    /// A participant did not take reliable data for too long, and gets no more of it before it connects again.
    DataTooSlow {
        /// The room's name.
        room: String,
        /// Who.
        identity: String,
    },
    /// A peer sent what it must not; what became of it is said in `what`.
    Misbehaved {
        /// Which connection.
        connection: ConnectionId,
        /// What was wrong.
        what: String,
    },
    /// The agent could not do what it was told.
    Refused {
        /// Which limit.
        why: String,
    },
}

counting::counters! {
    /// What is counted. Every refusal of input has a counter.
    pub enum Counter {
        /// A message that is neither protobuf nor JSON of the protocol.
        MalformedMessage = "signal_malformed",
        /// A message over the size limit.
        OversizedMessage = "signal_oversized",
        /// More messages a second than a client has reason to send.
        FloodingConnection = "signal_flood",
        /// A request the grants do not allow.
        NotAllowed = "request_not_allowed",
        /// A request about something that is not there.
        NotFound = "request_not_found",
        /// A request over a limit.
        LimitExceeded = "request_limit",
        /// A session description that cannot be read or answered.
        BadDescription = "description_bad",
        /// A session description of which lines were left out that cannot be used.
        LinesLeftOut = "description_lines_left_out",
        /// A session description of which media sections were refused that cannot be used.
        SectionsLeftOut = "description_sections_left_out",
        /// An answer or an offer that nobody waits for.
        StaleDescription = "description_stale",
        /// A data packet that is not the protocol's, or is too large.
        BadDataPacket = "data_bad",
        /// A data packet from a participant that may not send it.
        DataNotAllowed = "data_not_allowed",
        /// A reliable data packet that arrived before.
        DuplicateDataPacket = "data_duplicate",
        /// Reliable data packets for a participant that has not offered a connection yet, beyond what is kept for it.
        EarlyDataDropped = "data_early_dropped",
        /// A message from a connection that is no participant's any more.
        UnknownConnection = "connection_unknown",
        /// A notice about something that is gone already.
        StaleNotice = "notice_stale",
        /// A participant whose media never connected.
        NeverConnected = "participant_never_connected",
    }
}
