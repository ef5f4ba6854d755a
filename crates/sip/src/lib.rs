//! The control of a relay for SIP calls, as rtpengine and rtpproxy for Kamailio and OpenSIPS.
//!
//! A proxy reports calls in one of two protocols, [`ng`] or [`rtpproxy`], and gets ports, or
//! descriptions with our ports in them. Both use one state machine, [`CallController`]. Its input
//! is the time and messages; its output is orders for the media node, and replies. It has no clock,
//! socket or thread; the same seed and the same inputs at the same times give the same outputs.
//!
//! Start with [`CallController`], then [`southbound::relay`], the orders to a media node and its
//! answers. [`sdp`] reads and rewrites descriptions, [`quality`] rates calls, [`statistics`] are
//! for dashboards. Inside, `call` is one call, `calls` are all of them with their ports, and
//! `replies` are the answers that wait or are repeated; `ng` and `rtpproxy` turn commands into what
//! `calls` does. `peers` are the other machines of a cluster, which may have the call of a
//! command.

#![forbid(unsafe_code)]

pub mod limits;
pub mod ng;
pub mod quality;
pub mod rtpproxy;
pub mod sdp;
pub mod statistics;

mod call;
mod calls;
mod config;
mod controller;
mod cookie;
mod counters;
mod destinations;
mod form;
mod messages;
mod peers;
mod ports;
mod replies;
mod saved;
mod subject;

pub use config::{Config, ConfigRefused, Feature, Interface, Learning};
pub use controller::CallController;
pub use counters::{Counter, Counters};
pub use destinations::{Destinations, Machine};
pub use environment::WallClock;
pub use messages::{
    Form, Input, Malformed, Output, PEER_VERSION, PassOutcome, PassedRequest, PeerEvent, PeerMessage, Request,
    RequestId,
};
pub use saved::Change;
