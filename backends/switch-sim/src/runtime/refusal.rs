//! Refusals, with the code of the specification.

use std::fmt;

use tonic::Code;

/// The reason why a request or one of its updates had no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The reason.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.code, self.message)
    }
}

impl std::error::Error for Refusal {}

/// A step that may be refused.
pub(crate) type Outcome<T> = Result<T, Refusal>;

/// A refusal.
pub(crate) fn refuse<T>(code: Code, message: impl Into<String>) -> Outcome<T> {
    Err(Refusal {
        code,
        message: message.into(),
    })
}

/// A refusal of an argument.
pub(crate) fn invalid<T>(message: impl Into<String>) -> Outcome<T> {
    refuse(Code::InvalidArgument, message)
}
