//! The reason for the end of a session, as clients are told of it.

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The client left.
    ClientInitiated,
    /// The same identity joined elsewhere.
    DuplicateIdentity,
    /// The server goes away.
    ServerShutdown,
    /// An administrator removed it.
    ParticipantRemoved,
    /// An administrator deleted the room.
    RoomDeleted,
    /// Client and server disagree about what there is.
    StateMismatch,
    /// It could not join.
    JoinFailure,
    /// It moves to another server.
    Migration,
    /// Its signalling connection is gone and it did not come back.
    SignalClose,
    /// Its media is not connected any more, or never was.
    ConnectionTimeout,
    /// Its media could not be secured.
    MediaFailure,
}

impl EndReason {
    /// Its name, for logs and for the close frame of a connection.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientInitiated => "CLIENT_INITIATED",
            Self::DuplicateIdentity => "DUPLICATE_IDENTITY",
            Self::ServerShutdown => "SERVER_SHUTDOWN",
            Self::ParticipantRemoved => "PARTICIPANT_REMOVED",
            Self::RoomDeleted => "ROOM_DELETED",
            Self::StateMismatch => "STATE_MISMATCH",
            Self::JoinFailure => "JOIN_FAILURE",
            Self::Migration => "MIGRATION",
            Self::SignalClose => "SIGNAL_CLOSE",
            Self::ConnectionTimeout => "CONNECTION_TIMEOUT",
            Self::MediaFailure => "MEDIA_FAILURE",
        }
    }
}
