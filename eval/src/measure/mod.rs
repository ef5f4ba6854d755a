//! What the bench counts: packets, latencies, processor time and memory.

mod histogram;
mod machine;
mod processes;
mod tally;

pub use histogram::Histogram;
pub use machine::{Machine, MachineSample, ProcessSample, SocketDrops, process};
pub use processes::{Busiest, Processes};
pub use tally::{Arrival, Tally, Window};
