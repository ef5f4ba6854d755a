//! WHIP and WHEP, as a front end of the controller: publishing into a room and playing from one by
//! single HTTP requests.
//!
//! [`judge`] checks a request by its line and its headers, before the body is read.
//! [`AllowedRequest::read`] makes a [`Call`] of it and of the body. Neither has state. [`Front`]
//! carries the call out: it makes inputs of the controller of it, and the [`Answer`] of what the
//! controller tells the session. A session is a participant with one peer connection. Its client
//! offers once.
//!
//! Like the controller the crate has no clock, no socket and no thread.
//!
//! Sources: RFC 9725 (WHIP), draft-ietf-wish-whep-03 (WHEP), RFC 8840 (fragments of descriptions).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

pub mod limits;

mod answer;
mod bearer;
mod call;
mod choice;
mod drive;
mod etag;
mod fragment;
mod front;
mod offer;
mod query;
mod rids;
mod route;
mod saved;
mod session;
mod session_slots;
mod token;
mod watch;

pub use answer::Answer;
pub use call::{Access, AllowedRequest, Call, Delete, Open, Patch, Request, judge, options};
pub use drive::drive;
pub use front::{CallId, Front, Output};
pub use route::{Protocol, Route};
pub use watch::Watch;
