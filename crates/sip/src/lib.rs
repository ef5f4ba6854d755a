//! The control of a relay for SIP calls, as rtpengine and rtpproxy for Kamailio and OpenSIPS.
//!
//! A proxy reports calls in one of two protocols, [`ng`] or [`rtpproxy`], and gets ports, or
//! descriptions with our ports in them. Both use one state machine, [`Relay`]. Its input is the
//! time and messages; its output is orders for the media node, and replies. It has no clock, socket
//! or thread; the same seed and the same inputs at the same times give the same outputs.
//!
//! Start with [`Relay`], then [`southbound::relay`], the orders to a media node and its answers. [`sdp`] reads
//! and rewrites descriptions, [`quality`] rates calls, [`statistics`] are for dashboards.

pub mod limits;
pub mod ng;
pub mod quality;
pub mod rtpproxy;
pub mod sdp;
pub mod statistics;

mod call;
mod config;
mod cookies;
mod counters;
mod destinations;
mod drain;
mod forwarding;
mod ports;
mod reclaim;
mod relay;
mod requests;
mod saved;

pub(crate) use call::Call;
pub use config::{Config, ConfigRefused, Interface, Learning, Wish};
pub use counters::{Counter, Counters};
pub use destinations::{Destinations, Machine};
pub use environment::WallClock;
pub use relay::{Input, Output, Relay};
pub use requests::{Request, RequestId};
pub use saved::Change;
