//! The LiveKit client protocol, as a front end of the controller.
//!
//! A request to join comes as [`HttpRequest`] and is judged by [`admit`] without any state. `/rtc`
//! and `/rtc/v1` differ in the number of peer connections a client uses, see
//! [`PeerMode`](controller::PeerMode). A message of a client is read by an [`Inbox`],
//! on the connection's own task. [`Front`] makes the controller's requests of it, and writes the
//! controller's notifications as the messages that clients know. Messages of data channels are read
//! by [`notice_input`] and written by [`data_command`], whoever the participant's front end is.
//!
//! Requests of the server API are read and answered by a [`Call`](api::Call), which has no state
//! either.
//!
//! Workers of agents register, and get jobs, by [`agents`].
//!
//! Events of rooms are delivered to other servers by [`webhook`].
//!
//! Everything that knows the protocol's messages is here. Like the controller it has no clock, no
//! socket and no thread.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]
#![allow(
    deprecated,
    reason = "the protocol keeps old fields beside new ones, and old clients read the old"
)]

pub mod agents;
pub mod api;
pub mod webhook;

mod admission;
mod authenticate;
mod blobs;
mod bounds;
mod client_rules;
mod convert;
mod data;
mod fields;
mod form;
mod frame;
mod front;
mod inbox;
mod infos;
mod limits;
mod notifications;
mod query;
mod refusal;
mod requests;
mod traits;
mod user_agent;

pub use admission::{Admission, HttpRequest, Offer, Resume, Route, admit};
pub use data::{Messages, data_command, notice_input};
pub use frame::{Frame, Ledger, Parts};
pub use front::{Front, Input, Output};
pub use inbox::{Inbox, Received};
pub use notifications::Pings;
pub use refusal::Refusal;
