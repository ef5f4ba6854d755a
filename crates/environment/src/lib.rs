//! Calendar time and random numbers for state machines, which read neither a clock nor a generator
//! of the operating system: the same seed and the same inputs at the same times give the same
//! outputs.

#![forbid(unsafe_code)]

mod random;
mod wall_clock;

pub use random::{Random, sid_of};
pub use wall_clock::WallClock;
