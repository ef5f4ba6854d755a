use std::fmt;
use std::io;

/// Why servers could not be compared.
#[derive(Debug)]
pub enum CompareError {
    /// The operator's file of servers cannot be used.
    Configuration(String),
    /// The operator named something that there is not.
    Unknown(String),
    /// The machine refused a resource, or a command failed.
    Machine(io::Error),
}

impl From<io::Error> for CompareError {
    fn from(error: io::Error) -> Self {
        Self::Machine(error)
    }
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(text) | Self::Unknown(text) => write!(f, "{text}"),
            Self::Machine(error) => write!(f, "this machine refused: {error}"),
        }
    }
}

impl std::error::Error for CompareError {}
