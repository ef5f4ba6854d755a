//! What the bench counts: packets, latencies, processor time and memory.

pub use rig::{
    Arrival, Busiest, Histogram, Machine, MachineSample, ProcessSample, Processes, SocketDrops, Tally, Window, process,
};
