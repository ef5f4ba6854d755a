//! The controller in its own words: no client's protocol, and what an administrator may ask.
//!
//! Calls of clients are tested with the front end that reads their messages, in the `livekit`
//! crate.

#![allow(clippy::disallowed_methods, reason = "a test starts its clock somewhere")]

mod administration;
mod audiences;
mod calls;
mod endpoints;
mod full_rooms;
mod linked_tracks;
mod links;
mod nodes;
mod overview;
mod participants;
mod placement;
mod quotas;
mod session;
mod store;
mod takeover;
mod timelines;
mod trunks;
mod world;
