//! Limits of one packet's way through the switch. Reaching one is counted.

/// States that the parser visits for one packet. A longer way ends with the parser's time-out.
pub(crate) const STATES_MAX: usize = 1024;

/// Steps of one action. A longer one ends, as a fault.
pub(crate) const STEPS_MAX: usize = 4096;

/// Runs of the ingress pipeline for one received packet: recirculated and resubmitted copies beyond
/// it are dropped.
pub(crate) const ROUNDS_MAX: usize = 4096;

/// Runs of the egress pipeline for one received packet: copies beyond it are dropped.
pub(crate) const COPIES_MAX: usize = 16_384;

/// The longest packet after all headers have been put in front of it.
pub(crate) const BYTES_MAX: usize = 65_535;
