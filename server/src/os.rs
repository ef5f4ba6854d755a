//! The operating system: clocks, signals and the processors' time, ports, and what it refuses.

pub(crate) mod clock;
pub(crate) mod cpu_latency;
pub(crate) mod memory;
pub(crate) mod port_owner;
pub(crate) mod priority;
pub(crate) mod refused;
pub(crate) mod signals;
pub(crate) mod tcp;
pub(crate) mod udp;
