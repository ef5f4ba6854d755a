//! The operating system: clocks, signals and the processors' time.

pub mod clock;
pub mod cpu_latency;
pub mod priority;
pub mod signals;
