use std::fmt;
use std::io;

/// Why peers could not be compared.
#[derive(Debug)]
pub enum PeersError {
    /// The operator's file of peers cannot be used.
    Configuration(String),
    /// The operator named something that there is not.
    Unknown(String),
    /// The machine refused a resource, or a command failed.
    Machine(io::Error),
}

impl From<io::Error> for PeersError {
    fn from(error: io::Error) -> Self {
        Self::Machine(error)
    }
}

impl fmt::Display for PeersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(text) | Self::Unknown(text) => write!(f, "{text}"),
            Self::Machine(error) => write!(f, "this machine refused: {error}"),
        }
    }
}

impl std::error::Error for PeersError {}
