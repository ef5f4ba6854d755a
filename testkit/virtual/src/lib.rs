//! Test doubles for an agent in virtual time: a device that can be inspected, and the path to a
//! receiver.
//!
//! [`Plane`] is the model with a copy of its entries. [`Link`] is a bottleneck with a queue, and
//! the receiver's reports at the end of it. Neither reads a clock.

#![forbid(unsafe_code)]

mod link;
mod plane;

pub use link::Link;
pub use plane::Plane;
