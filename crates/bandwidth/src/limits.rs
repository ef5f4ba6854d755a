//! Every limit, and the behaviour at it.

use std::time::Duration;

/// Packets an estimator remembers having sent. Beyond it the oldest is forgotten, and feedback on
/// it counts as unknown.
///
/// Half a cycle of the 16-bit numbers: with more, a number could mean two packets.
pub const HISTORY_PACKETS_MAX: usize = 1 << 15;

/// How long a packet is remembered. Later feedback counts as unknown.
pub const HISTORY_AGE_MAX: Duration = Duration::from_secs(10);

/// Times at which packets arrived kept to measure throughput. Beyond it the oldest is forgotten,
/// and the rate is measured over a shorter time.
pub const ARRIVALS_MAX: usize = 4096;

/// Probes whose packets are being watched. Beyond it the oldest is given up.
pub const CLUSTERS_MAX: usize = 8;

/// Probes waiting to be sent. Beyond it new ones are not made.
pub const PROBES_MAX: usize = 4;
