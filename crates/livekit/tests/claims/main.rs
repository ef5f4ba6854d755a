//! Scripted clients against the controller: what comes in as messages and notices, what goes out as messages and commands.
//!
//! Time and randomness are given, so a test that passes once passes always.

#![allow(clippy::disallowed_methods, reason = "a test starts its clock somewhere")]
#![allow(deprecated, reason = "old fields are part of the protocol")]

mod browser;
mod world;

mod backup;
mod both_ways;
mod bounds;
mod clear;
mod crowd;
mod data;
mod demand;
mod devices;
mod dual;
mod feedback;
mod matching;
mod misbehaviour;
mod odd_descriptions;
mod pauses;
mod permissions;
mod reconnect;
mod redundancy;
mod rooms;
mod single;
mod speakers;
mod tokens;
mod voices;
mod watching;
mod wishes;
