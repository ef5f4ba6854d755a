//! Divides one receiver's downlink: the encoding and the layers that each subscription is sent.
//!
//! Start with [`Allocator`]. It is called whenever an estimate, a measured rate or a request
//! changes, with all subscriptions of the receiver, and returns a [`Grant`] for each. `divide` is
//! its pure part, which divides a budget; the rest decides when a change is worth making.
//! [`FallbackChooser`] chooses the sizes to keep beside the grants, so that a fall needs no key
//! frame. [`Thresholds`] is the simplest other policy: fixed rates per stream. [`LastN`] and
//! [`LoudestFew`] come before either in large rooms: they choose the videos and the audio streams
//! that get a place at all.
//!
//! No code here reads a clock, draws a random number or looks at a packet. The same history of
//! calls gives the same grants, in any order of subscriptions.
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
pub use fallback::{FallbackChooser, FallbackSizes};
pub use history::EstimateHistory;
pub use last_n::{LastN, VideoSlot};
pub use loudest::{Loudest, LoudestFew, Voice};
pub use per_stream::PerStream;
pub use policy::{Allocation, Grant, Headroom, Policy};
pub use select::SelectDecodeTarget;
pub use subscription::{Key, Offer, Request, Source, Subscription};
pub use target::{BitRate, DecodeTarget};
pub use thresholds::Thresholds;
