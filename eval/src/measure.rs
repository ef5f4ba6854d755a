//! Measurements of the bench: packets, latencies, processor time and memory.

pub use harness::{
    Arrival, Busiest, Datagrams, Histogram, Machine, MachineSample, ProcessSample, Processes, SocketDrops, Tally,
    Window, process,
};
