//! Scripted clients against the controller: what comes in as messages and notices, what goes out as
//! messages and commands.
//!
//! Time and randomness are given, so a test that passes once passes always.

#![allow(clippy::disallowed_methods, reason = "a test starts its clock somewhere")]
#![allow(deprecated, reason = "old fields are part of the protocol")]

mod browser;
mod world;

mod limits;
mod membership;
mod negotiation;
mod node;
mod publishing;
mod subscribing;
