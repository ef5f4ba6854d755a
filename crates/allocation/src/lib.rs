//! Who gets how much of one receiver's downlink: which encoding and which layers of it each
//! subscription is sent.
//!
//! Read [`Allocator`] first. It is asked whenever an estimate, a measured rate or a wish changes,
//! with everything the receiver is subscribed to, and answers with a [`Grant`] for each. `divide`
//! is the pure part of it, a budget cut up; the rest is patience. [`FallbackChooser`] says what
//! goes on beside it, so that a fall needs no key frame. [`Thresholds`] is the simplest other
//! policy: fixed rates per stream. [`LastN`] and [`LoudestFew`] come before either in large rooms:
//! they say which videos and voices are worth a place at all.
//!
//! Nothing here reads a clock, draws a number at random or looks at a packet, and the same history
//! of calls gives the same grants, in whatever order subscriptions are listed.
//!
//! Source: Scallop section 5.4 for the shape of the per-stream function.

#![forbid(unsafe_code)]

pub mod limits;

mod allocator;
mod candidates;
mod divide;
mod fallback;
mod history;
mod hysteresis;
mod ladder;
mod last_n;
mod loudest;
mod per_stream;
mod policy;
mod quality;
mod select;
mod subscription;
mod target;
mod thresholds;

pub use allocator::{Allocator, Config};
pub use fallback::{FallbackChooser, Kept};
pub use history::EstimateHistory;
pub use last_n::{LastN, VideoSlot};
pub use loudest::{Loudest, LoudestFew, Voice};
pub use per_stream::PerStream;
pub use policy::{Allocation, Grant, Headroom, Policy};
pub use select::SelectDecodeTarget;
pub use subscription::{Key, Offer, Request, Source, Subscription};
pub use target::{BitRate, DecodeTarget};
pub use thresholds::Thresholds;
