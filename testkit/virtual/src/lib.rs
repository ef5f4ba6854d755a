//! Test doubles for an agent in virtual time: a device that can be inspected, and the path to a
//! receiver.
//!
//! [`Plane`] is the model with a copy of its entries. [`Link`] is a bottleneck with a queue, and
//! the receiver's reports at the end of it. Neither reads a clock. [`answer`] answers the checks of
//! an agent, which sends to no address before that.

#![forbid(unsafe_code)]

mod answer;
mod link;
mod plane;

pub use answer::answer;
pub use link::Link;
pub use plane::Plane;
