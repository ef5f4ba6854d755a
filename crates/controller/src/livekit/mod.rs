//! The LiveKit client protocol: requests and tokens here, messages in [`Controller`](crate::Controller).
//!
//! A request comes as [`HttpRequest`] and is judged by [`admit`] without any state. `/rtc` and `/rtc/v1` differ in the number
//! of peer connections a client uses, see [`PeerMode`].

pub(crate) mod bounds;
pub(crate) mod frame;

mod admission;
mod claims;
mod fields;
mod inbox;
mod query;
mod reading;
mod token;
mod user_agent;

pub(crate) use inbox::{Incoming, Unusable};

pub use admission::{Admission, HttpRequest, Offer, PeerMode, Refusal, Resume, Route, admit};
pub use claims::{Claims, VideoGrant};
pub use inbox::{Description, Inbox, Received};
pub use token::{ApiKeys, TokenError, sign, verify};
