//! Outputs of the workers' state machine.

use controller::ConnectionId;

use crate::frame::Frame;

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
    /// Send a message once the nodes of a room keep what has changed there, if they keep anything:
    /// the next controller has to know of it.
    SendKept {
        /// The name of the room, as its clients say it.
        room: String,
        /// The connection that it is sent on.
        connection: ConnectionId,
        /// The message as it is sent.
        frame: Frame,
    },
    /// Close a connection after what was sent before.
    Close {
        /// Which connection.
        connection: ConnectionId,
        /// WebSocket close code (RFC 6455 section 7.4).
        code: u16,
        /// For those who debug the worker.
        reason: &'static str,
    },
    /// Remove a participant, if it is there: an agent that did not leave by itself.
    Remove {
        /// The room's name.
        room: String,
        /// The agent's identity.
        identity: String,
    },
    /// Something to count.
    Count(Counter),
    /// Something to log.
    Event(Event),
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker registered.
    Registered {
        /// Its id.
        worker: String,
        /// The name of its agents.
        agent: String,
    },
    /// The connection of a worker is gone.
    Lost {
        /// Its id.
        worker: String,
    },
    /// A worker was given a job.
    Assigned {
        /// The job.
        job: String,
        /// The room's name.
        room: String,
        /// The worker.
        worker: String,
    },
    /// An agent is lost. Its job is offered again.
    Restarted {
        /// The job.
        job: String,
        /// The room's name.
        room: String,
        /// Why.
        error: String,
    },
    /// A job is over.
    Ended {
        /// The job.
        job: String,
        /// The room's name.
        room: String,
        /// Why, if its agent did not do what it should.
        error: String,
    },
}

counting::counters! {
    /// Counters of workers and their jobs.
    pub enum Counter {
        /// A job that a worker was given.
        Assigned = "assigned",
        /// A job that a worker declined.
        Declined = "declined",
        /// An answer of a worker that cannot be used: its agent has no identity, that of somebody
        /// in the room, or values over a limit. The job counts as declined.
        BadAnswer = "bad_answer",
        /// An offer that a worker did not answer in time.
        Unanswered = "unanswered",
        /// An agent that did not join in time, or did not come back.
        NotJoined = "not_joined",
        /// A lost agent whose job is offered again.
        Restarted = "restarted",
        /// A job that ended in failure.
        Failed = "failed",
        /// A message about a job that the worker does not have.
        UnknownJob = "unknown_job",
        /// A message from a worker that is closed.
        UnknownWorker = "unknown_worker",
        /// A message that this server does not take: a second registration, a simulated job.
        Unsupported = "unsupported",
        /// An agent that a token or `CreateRoom` asked for and that was left out: rooms keep as
        /// much of their dispatches as they may.
        StoreFull = "store_full",
        /// A worker that was closed because there were too many.
        TooManyWorkers = "too_many_workers",
        /// A worker that was closed because it did not register in time.
        Unregistered = "unregistered",
        /// A worker that was closed because of its registration.
        BadRegistration = "bad_registration",
        /// A worker that was closed because it failed too often in a row.
        Unresponsive = "unresponsive",
        /// A worker that was closed because its API key was removed.
        KeyRemoved = "key_removed",
        /// A worker that was closed because of a message that cannot be read.
        Malformed = "malformed",
        /// A worker that was closed because of a message over the size limit.
        Oversized = "oversized",
        /// A worker that was closed because it sent too many messages.
        Flood = "flood",
    }
}
