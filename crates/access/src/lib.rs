//! Access tokens: who a bearer is and what it may do.
//!
//! [`verify`] checks a token and reads its [`Claims`]; [`sign`] writes one. The grants of the
//! claims say which services a bearer may use. [`Permission`] is what the video grant means for a
//! participant of a room.
//!
//! Tokens are JSON Web Tokens in the form that LiveKit's servers and SDKs use. They are read as
//! Go's decoder reads them, because tokens are made for servers written in Go.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

mod claims;
mod kind;
mod permission;
mod reading;
mod room_names;
mod token;
mod turn;

pub use claims::{AgentGrant, Claims, InferenceGrant, ObservabilityGrant, SipGrant, VideoGrant};
pub use kind::{KindDetail, ParticipantKind, TrackSource};
pub use permission::Permission;
pub use room_names::{RoomNames, is_room_among};
pub use token::{ApiKeys, TokenError, sign, verify};
pub use turn::{TurnCredentials, TurnSecret};
