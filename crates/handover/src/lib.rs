//! Rooms on their way between controllers: the snapshots that their media nodes keep.
//!
//! A controller saves the changes of its rooms, sealed, with the nodes of each room. The next owner
//! opens the parts and goes on with the room. Like the controller the crate has no clock, no socket
//! and no thread.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]

mod snapshots;

pub use snapshots::{Flaw, Opened, Snapshots, ToRoom};
