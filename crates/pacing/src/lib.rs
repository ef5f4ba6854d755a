//! Paces packets to one receiver, so that a key frame does not fill a narrow downlink's queue, and
//! sends probes.
//!
//! Sans-IO: [`Pacer`] is told of sent packets, keeps those that may not be sent yet, and gives the
//! time of the next look. It reads no clock, and does not depend on the type of packets or their
//! transmission.

#![forbid(unsafe_code)]

pub mod limits;
mod pacer;
mod probe;

pub use pacer::{Class, Full, Leave, Pacer};
pub use probe::Probe;
