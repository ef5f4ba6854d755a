//! Remote procedure calls: an administrator calls a method of a participant's application.
//!
//! Source: the calls between participants of LiveKit's SDKs, with the codes of their errors.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

/// A call on its way to a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcCall {
    /// Its id, which the replies bear.
    pub id: String,
    /// The method's name.
    pub method: String,
    /// Its argument.
    pub payload: String,
    /// How long the caller waits.
    pub response_timeout: Duration,
}

/// A participant's reply to a call, whoever called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcReply {
    /// The id of the call.
    pub call_id: String,
    /// The reply.
    pub content: RpcContent,
    /// The packet as its sender encoded it.
    pub encoded: Bytes,
}

/// The content of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcContent {
    /// The call has arrived.
    Received,
    /// The call is done.
    Done(Result<String, RpcError>),
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// One of the codes below, or the application's.
    pub code: u32,
    /// The message, for people.
    pub message: String,
    /// More, from the application.
    pub data: String,
}

impl RpcError {
    /// The participant did not confirm the call.
    pub const CONNECTION_TIMEOUT: u32 = 1501;
    /// The participant did not answer the call.
    pub const RESPONSE_TIMEOUT: u32 = 1502;
    /// The participant left before it answered.
    pub const RECIPIENT_DISCONNECTED: u32 = 1503;
    /// The answer is too long, or is not in a form that can be passed on.
    pub const RESPONSE_PAYLOAD_TOO_LARGE: u32 = 1504;
    /// The argument is too long.
    pub const REQUEST_PAYLOAD_TOO_LARGE: u32 = 1402;

    /// An error of ours.
    pub fn new(code: u32) -> Self {
        let message = match code {
            Self::CONNECTION_TIMEOUT => "Connection timeout",
            Self::RESPONSE_TIMEOUT => "Response timeout",
            Self::RECIPIENT_DISCONNECTED => "Recipient disconnected",
            Self::RESPONSE_PAYLOAD_TOO_LARGE => "Response payload too large",
            Self::REQUEST_PAYLOAD_TOO_LARGE => "Request payload too large",
            _ => "",
        };
        Self {
            code,
            message: message.to_owned(),
            data: String::new(),
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RpcError {}: {}", self.code, self.message)?;
        match self.data.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", self.data),
        }
    }
}
