//! The LiveKit client protocol: requests and tokens here, messages in [`Controller`](crate::Controller).
//!
//! A request comes as [`HttpRequest`] and is judged by [`admit`] without any state. `/rtc` and `/rtc/v1` differ in the number
//! of peer connections a client uses, see [`PeerMode`].

pub(crate) mod bounds;
pub(crate) mod convert;
pub(crate) mod frame;

mod admission;
mod fields;
mod inbox;
mod query;
mod user_agent;

pub(crate) use inbox::{Incoming, Unusable};

pub use admission::{Admission, HttpRequest, Offer, PeerMode, Refusal, Resume, Route, admit};
pub use inbox::{Description, Inbox, Received};
