//! The driver with a switch that interprets the program: over gRPC, with packets.

#![allow(clippy::disallowed_methods, reason = "tests read the clock")]

mod bench;
mod calls;
mod changing;
mod losing;
mod meeting;
mod rooms;
mod trees;
