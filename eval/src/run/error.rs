use crate::client::{ParticipantError, SignalError};
use crate::transport::TransportError;

/// Why there is no measurement.
#[derive(Debug)]
pub enum RunError {
    /// The server could not be found.
    Server(SignalError),
    /// A participant was lost: its number, and why.
    Participant(u32, ParticipantError),
    /// Not everybody received everybody in time: those who did not.
    NotReady(String),
    /// The machine refused a resource.
    Machine(std::io::Error),
    /// A certificate could not be made.
    Identity(TransportError),
    /// The scenario makes no sense.
    Scenario(String),
    /// There is no process with the server's number.
    NoProcess(u32),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server(error) => write!(f, "{error}"),
            Self::Participant(number, error) => write!(f, "participant {number}: {error}"),
            Self::NotReady(who) => write!(f, "joining took too long: {who}"),
            Self::Machine(error) => write!(f, "this machine refused: {error}"),
            Self::Identity(error) => write!(f, "no certificate could be made: {error}"),
            Self::Scenario(text) => write!(f, "{text}"),
            Self::NoProcess(pid) => write!(f, "there is no process {pid}"),
        }
    }
}

impl std::error::Error for RunError {}
