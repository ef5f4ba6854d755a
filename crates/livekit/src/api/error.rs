//! Errors in Twirp's form.

use std::fmt;

use controller::{AdminError, RpcError};
use serde_json::{Map, Value, json};

use crate::agents::DispatchError;

/// The codes of Twirp that are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// No such service or method, a method other than POST, or an unknown form of the body.
    BadRoute,
    /// The body cannot be read.
    Malformed,
    /// The token is missing, is invalid, or lacks a grant.
    Unauthenticated,
    /// The request contradicts itself or exceeds a limit.
    InvalidArgument,
    /// No such room, participant or track.
    NotFound,
    /// The operator does not permit it.
    FailedPrecondition,
    /// The server has no place for more.
    ResourceExhausted,
    /// It took too long.
    DeadlineExceeded,
    /// It was given up.
    Canceled,
    /// This server does not do it.
    Unimplemented,
    /// It cannot be done at the moment.
    Unavailable,
    /// It failed.
    Internal,
    /// It failed for a reason without a code.
    Unknown,
}

impl Code {
    /// The code's name in the protocol.
    pub fn name(self) -> &'static str {
        self.name_and_status().0
    }

    /// The HTTP status that belongs to it.
    pub fn status(self) -> u16 {
        self.name_and_status().1
    }

    fn name_and_status(self) -> (&'static str, u16) {
        match self {
            Self::BadRoute => ("bad_route", 404),
            Self::Malformed => ("malformed", 400),
            Self::Unauthenticated => ("unauthenticated", 401),
            Self::InvalidArgument => ("invalid_argument", 400),
            Self::NotFound => ("not_found", 404),
            Self::FailedPrecondition => ("failed_precondition", 412),
            Self::ResourceExhausted => ("resource_exhausted", 429),
            Self::DeadlineExceeded => ("deadline_exceeded", 408),
            Self::Canceled => ("canceled", 408),
            Self::Unimplemented => ("unimplemented", 501),
            Self::Unavailable => ("unavailable", 503),
            Self::Internal => ("internal", 500),
            Self::Unknown => ("unknown", 500),
        }
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The code.
    pub code: Code,
    /// The message, for people.
    pub message: String,
    /// One more fact: its name and value.
    pub meta: Option<(&'static str, String)>,
}

impl ApiError {
    /// An error without more facts.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            meta: None,
        }
    }

    /// The grants do not allow it. LiveKit does not tell this from a missing token.
    pub(super) fn denied() -> Self {
        Self::new(Code::Unauthenticated, "permissions denied")
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    pub(super) fn bad_route(message: String, method: &str, path: &str) -> Self {
        Self {
            code: Code::BadRoute,
            message,
            meta: Some(("twirp_invalid_route", format!("{method} {path}"))),
        }
    }

    /// The answer's body.
    pub fn json(&self) -> Vec<u8> {
        let mut body = Map::new();
        body.insert("code".to_owned(), self.code.name().into());
        body.insert("msg".to_owned(), self.message.as_str().into());
        if let Some((name, value)) = &self.meta {
            body.insert("meta".to_owned(), json!({ *name: value }));
        }
        Value::Object(body).to_string().into_bytes()
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for ApiError {}

impl From<AdminError> for ApiError {
    fn from(error: AdminError) -> Self {
        let code = match &error {
            AdminError::RoomNotFound | AdminError::ParticipantNotFound | AdminError::TrackNotFound => Code::NotFound,
            AdminError::StoreFull
            | AdminError::TooManyRooms
            | AdminError::TooManyRoomsOfKey
            | AdminError::TooManyCalls => Code::ResourceExhausted,
            AdminError::Draining | AdminError::Moved => Code::Unavailable,
            AdminError::Rpc(error) => of_rpc(error),
            AdminError::RemoteUnmuteDisabled => Code::FailedPrecondition,
            AdminError::InvalidArgument(_) => Code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<DispatchError> for ApiError {
    fn from(error: DispatchError) -> Self {
        let code = match error {
            DispatchError::RoomNotFound | DispatchError::DispatchNotFound => Code::NotFound,
            DispatchError::TooManyDispatches | DispatchError::StoreFull => Code::ResourceExhausted,
        };
        Self::new(code, error.to_string())
    }
}

/// The codes that LiveKit's server gives errors of calls to participants.
fn of_rpc(error: &RpcError) -> Code {
    match error.code {
        RpcError::CONNECTION_TIMEOUT | RpcError::RESPONSE_TIMEOUT => Code::Canceled,
        RpcError::RECIPIENT_DISCONNECTED => Code::Unavailable,
        RpcError::RESPONSE_PAYLOAD_TOO_LARGE | RpcError::REQUEST_PAYLOAD_TOO_LARGE => Code::Malformed,
        // The participant has no such method.
        1400 => Code::InvalidArgument,
        // The participant does not know the recipient.
        1401 => Code::NotFound,
        // The participant speaks another version.
        1403 | 1404 => Code::Unimplemented,
        _ => Code::Internal,
    }
}
