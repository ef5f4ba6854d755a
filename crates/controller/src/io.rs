//! Inputs and outputs of the controller: plain values, which may be passed to another process.

use std::fmt;
use std::sync::Arc;

use operator::ParticipantObservation;
use southbound::{Command, Linked, MessageId, NodeId, Notice, TransportId};

use crate::{
    AdminError, AdminReply, AdminRequest, DataMessage, EndReason, Join, Notification, Request, Resume, RoomEvent,
};

/// A participant's connection to a front end, over which it asks and is told. Front ends hand the
/// names out and never use one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An administrator's request, by the name that its front end gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdminRequestId(pub u64);

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Somebody joins.
    Join {
        /// Its connection.
        connection: ConnectionId,
        /// As what.
        join: Box<Join>,
    },
    /// A participant comes back on a new connection.
    Resume {
        /// Its new connection.
        connection: ConnectionId,
        /// As what.
        resume: Box<Resume>,
    },
    /// A front end goes on with a participant of a room that another controller served. Its client
    /// has no connection of its own, so it does not come back.
    Attach {
        /// Its connection from now on.
        connection: ConnectionId,
        /// The name of the room that was restored.
        room: String,
        /// The id of the participant's stay.
        sid: String,
    },
    /// A participant asks for something.
    Request {
        /// On which connection.
        connection: ConnectionId,
        /// The request.
        request: Box<Request>,
    },
    /// A connection ended, whoever ended it. Said once for every connection, also for those that
    /// the controller ended.
    Ended {
        /// Which connection.
        connection: ConnectionId,
    },
    /// A message arrived on a data channel.
    Data {
        /// On which transport.
        transport: TransportId,
        /// The agent's name for it: the agent is told when it has been dealt with.
        message: MessageId,
        /// The number of the endpoints up to which its node has passed it on.
        passed_on: Option<u64>,
        /// The endpoints of other nodes that it was sent to over links.
        linked: Linked,
        /// The message; `None` for one that cannot be read.
        data: Option<Box<DataMessage>>,
    },
    /// An administrator asks for something.
    Admin {
        /// The name of the request. Its answer bears the same.
        request_id: AdminRequestId,
        /// The request.
        request: AdminRequest,
    },
    /// A node noticed something.
    Notice {
        /// Which node.
        node: NodeId,
        /// The notice.
        notice: Notice,
    },
    /// A node is gone, and everything on it.
    NodeLost {
        /// Which node.
        node: NodeId,
    },
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Tell one participant something.
    Notify {
        /// On which connection.
        connection: ConnectionId,
        /// The notification.
        notification: Notification,
    },
    /// Tell several participants the same.
    NotifyMany {
        /// On which connections.
        connections: Vec<ConnectionId>,
        /// The notification.
        notification: Notification,
    },
    /// End a connection after what was told on it before.
    End {
        /// Which connection.
        connection: ConnectionId,
        /// Why.
        cause: EndCause,
    },
    /// Send a message on data channels.
    Data {
        /// On which node.
        node: NodeId,
        /// The room of the message.
        room: Arc<str>,
        /// On which of its transports.
        to: Vec<TransportId>,
        /// The agent's name for the message that is passed on, if it is one that arrived.
        message: Option<MessageId>,
        /// The message.
        data: DataMessage,
    },
    /// Tell a node.
    Command {
        /// Which node.
        node: NodeId,
        /// The room that the command is for; `None` if the controller does not know it any more.
        room: Option<Arc<str>>,
        /// The command.
        command: Command,
    },
    /// Answer an administrator's request.
    Reply {
        /// Which request.
        request_id: AdminRequestId,
        /// The answer.
        reply: Result<AdminReply, AdminError>,
    },
    /// An event of a room, for those outside of it. Only while
    /// [`set_room_events`](crate::Controller::set_room_events) asks for them.
    Room(Box<RoomEvent>),
    /// An observation of a participant, for its timeline. Only while
    /// [`observations`](crate::Config::observations) asks for them.
    Observation {
        /// The room of the participant.
        room: Arc<str>,
        /// The participant and the observation.
        observation: Box<ParticipantObservation>,
    },
    /// Something to count.
    Count(Counter),
    /// Something to log.
    Event(Event),
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// The session is over. The participant has been told if it did not ask for that.
    Session(EndReason),
    /// The participant has another connection.
    Replaced,
    /// Another controller goes on with the room. The participant comes back to that one.
    Released,
    /// A client asked for a failure, and gets one.
    SimulatedFault,
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
    /// Another controller goes on with a room.
    RoomReleased {
        /// Its name.
        room: String,
    },
    /// A participant's session began.
    Joined {
        /// The room's name.
        room: String,
        /// The identity.
        identity: String,
        /// Which connection.
        connection: ConnectionId,
    },
    /// A participant came back on a new connection.
    Resumed {
        /// The room's name.
        room: String,
        /// The identity.
        identity: String,
        /// The new connection.
        connection: ConnectionId,
    },
    /// A participant is gone.
    Left {
        /// The room's name.
        room: String,
        /// The identity.
        identity: String,
        /// Why: the name of an [`EndReason`].
        reason: &'static str,
    },
    /// A participant did not take reliable data for too long, and gets no more of it before it
    /// connects again.
    DataTooSlow {
        /// The room's name.
        room: String,
        /// The identity.
        identity: String,
    },
    /// A peer sent what it must not; what became of it is said in `what`.
    Misbehaved {
        /// Which connection.
        connection: ConnectionId,
        /// The mistake.
        what: String,
    },
    /// The agent could not do what it was told.
    Refused {
        /// Which limit.
        why: String,
    },
}

counting::counters! {
    /// Counters of the controller. Every refusal of input has one.
    pub enum Counter {
        /// A message that is not of the front end's protocol.
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
        /// Reliable data packets for a participant that has not offered a connection yet, beyond
        /// what is kept for it.
        EarlyDataDropped = "data_early_dropped",
        /// A message from a connection that is no participant's any more.
        UnknownConnection = "connection_unknown",
        /// A notice about something that is gone already.
        StaleNotice = "notice_stale",
        /// A participant whose media never connected.
        NeverConnected = "participant_never_connected",
        /// A participant that no media node takes.
        NoMediaNode = "participant_no_media_node",
        /// A participant that was sent to another media node, as its own drains.
        MovedParticipant = "participant_moved",
        /// Times that the way of a track to other nodes was worked out.
        TrunkNeeds = "trunk_needs",
        /// Trunks that are sealed since only one of their nodes takes one in clear.
        TrunkMixed = "trunk_mixed",
    }
}
