//! The controlling half of a relay for SIP calls: what rtpengine and rtpproxy are to Kamailio and
//! OpenSIPS.
//!
//! A proxy tells of calls in one of two protocols, [`ng`] or [`rtpproxy`], and gets ports, or
//! descriptions with our ports in them. Both end in one state machine, [`Relay`]: it is told the
//! time and what has arrived, and says what the media node is to do and what to answer. No clock,
//! no socket, no thread; the same seed and the same inputs at the same times give the same outputs.
//!
//! Read [`Relay`] first, then [`plan`]: what a media node is ordered and tells. [`sdp`] is how
//! descriptions are read and rewritten, [`quality`] how calls are rated, [`statistics`] what
//! dashboards are told.

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
mod ports;
mod random;
mod relay;
mod requests;
mod saved;

pub(crate) use call::Call;
pub use config::{Config, ConfigRefused, Interface, WallClock};
pub use counters::{Counter, Counters};
pub use relay::{Input, Output, Relay};
pub use requests::{Request, RequestId};
pub use saved::Change;
pub use southbound::relay as plan;
