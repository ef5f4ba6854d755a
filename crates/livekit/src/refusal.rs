//! Refused requests.

use std::fmt;

use controller::JoinError;

/// Why a request is refused, as the HTTP answer says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The answer's body.
    pub text: String,
}

impl Refusal {
    pub(crate) fn new(status: u16, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
        }
    }
}

impl From<JoinError> for Refusal {
    fn from(error: JoinError) -> Self {
        let status = match error {
            JoinError::NoSuchRoom => 404,
            JoinError::IdentityTaken => 409,
            JoinError::NoMediaNode(_) | JoinError::Draining | JoinError::TooManyRooms | JoinError::RoomFull => 503,
            JoinError::TooManyRoomsOfKey
            | JoinError::TooManyParticipantsOfKey
            | JoinError::StoreFull
            | JoinError::TooOften => 429,
        };
        Self::new(status, error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.text)
    }
}

impl std::error::Error for Refusal {}
