//! Who may send what to whom: rooms, participants, publications and subscriptions, and the signalling they are asked for in.
//!
//! [`Controller`] is the one type to know. It is a state machine without a clock, a socket or a thread: the program feeds it
//! [`Input`]s (a WebSocket opened, a message arrived, the agent noticed something), it answers in [`Output`]s (send this frame,
//! close that connection, tell the agent this [`Command`](southbound::Command)), and [`Controller::poll_timeout`] says when it
//! wants to be called again. With the same seed and the same inputs at the same times it does the same things again.
//!
//! Before there is a connection there is a request: [`livekit::admit`] turns one into an [`Admission`](livekit::Admission) or a
//! refusal, by its token alone; [`Controller::vet`] says what the state of the rooms adds to that.
//!
//! Media is negotiated here and never seen: addresses, keys and packets are the agent's and the data plane's.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests start the clock"))]
#![allow(
    deprecated,
    reason = "the protocol keeps old fields beside new ones, and old clients read the old"
)]

pub mod livekit;

mod arrival;
mod attention;
mod budget;
mod client_rules;
mod config;
mod connection;
mod context;
mod controller;
mod data;
mod demand;
mod ids;
mod io;
mod limits;
mod negotiation;
mod participant;
mod quality;
mod room;
mod speakers;
mod subscription;
mod track;
mod voices;

pub use allocation::Loudest;
pub use config::{Config, IceServer, Visible, WallClock};
pub use controller::{Controller, Downlink, Population, Subscribed};
pub use io::{ConnectionId, Counter, Counters, Event, Frame, Input, Output};
