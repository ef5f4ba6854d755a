//! Spreads what leaves towards one receiver, so that a key frame does not fill a thin downlink's
//! queue, and sends probes.
//!
//! Sans-IO: [`Pacer`] is told what left, keeps what may not leave yet, and says when to look again.
//! It reads no clock, and knows neither what a packet is nor how it is sent.

pub mod limits;
mod pacer;
mod probe;

pub use pacer::{Class, Full, Leave, Pacer};
pub use probe::Probe;
