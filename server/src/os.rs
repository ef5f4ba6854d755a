//! The operating system: clocks, signals and the processors' time.

pub(crate) mod clock;
pub(crate) mod cpu_latency;
pub(crate) mod priority;
pub(crate) mod signals;
