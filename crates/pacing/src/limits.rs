//! Every limit, and the behaviour at it.

use std::time::Duration;

/// Bytes that may wait. Beyond it a packet is refused and given back to the caller, who counts it.
pub const BYTES_MAX: usize = 4 << 20;

/// Packets that may wait, likewise.
pub const PACKETS_MAX: usize = 4096;

/// A packet waits no longer than this: the pace rises as far as that takes.
pub const WAIT_MAX: Duration = Duration::from_millis(500);

/// Packets of one probe. After this many it is over, for packets of any size.
pub const PROBE_PACKETS_MAX: u32 = 256;

/// The longest time of a probe, whatever it asks for: packets that wait meanwhile are sent at its
/// rate.
pub const PROBE_TIME_MAX: Duration = Duration::from_secs(1);

/// Probes that may wait. Beyond it a new one is not sent.
pub const PROBES_MAX: usize = 4;
