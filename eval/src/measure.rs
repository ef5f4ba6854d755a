//! Measurements of the bench: packets, latencies, processor time and memory.

pub use harness::{
    Arrival, Busiest, Histogram, Machine, MachineSample, ProcessSample, Processes, SocketDrops, Tally, Window, process,
};
