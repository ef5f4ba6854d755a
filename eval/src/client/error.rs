use super::signal::SignalError;
use crate::transport::TransportError;
use crate::transport::sdp::SdpError;

/// Why a participant is out. All are final for it.
#[derive(Debug)]
pub enum ParticipantError {
    /// Signalling failed.
    Signal(SignalError),
    /// A transport failed.
    Transport(TransportError),
    /// The server names no TURN server for the route.
    NoTurn,
    /// The server's description cannot be used.
    Description(SdpError),
    /// The server refused a published track.
    TrackRefused,
    /// The server sent the participant away, for this reason.
    SentAway(String),
    /// The machine refused to wait on another socket.
    Wait(nix::Error),
}

impl From<SignalError> for ParticipantError {
    fn from(error: SignalError) -> Self {
        Self::Signal(error)
    }
}

impl From<TransportError> for ParticipantError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

impl std::fmt::Display for ParticipantError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Signal(error) => write!(f, "{error}"),
            Self::Transport(error) => write!(f, "{error}"),
            Self::NoTurn => write!(f, "the server names no TURN server"),
            Self::Description(SdpError::Missing(what)) => write!(f, "the server's description has no {what}"),
            Self::TrackRefused => write!(f, "the server refused a track"),
            Self::SentAway(reason) => write!(f, "the server sent the participant away: {reason}"),
            Self::Wait(error) => write!(f, "cannot wait on a socket: {error}"),
        }
    }
}

impl std::error::Error for ParticipantError {}
