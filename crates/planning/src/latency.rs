use serde::Deserialize;

use crate::kind::Kind;
use crate::limits::RECEIVERS_OF_A_CORE;

/// The time in which a frame has to be sent to the last of its receivers.
///
/// A worker copies a frame to one receiver after another, so the time grows with their number
/// while cores idle. Source: Tran et al., "eXpressSFU", section 3, which allows 20.5 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Microseconds that a frame may take.
    pub limit_us: u64,
    /// The share of them that is planned. The rest is for waits that are not computed.
    pub percent: u64,
    /// Nanoseconds for each run, which is a frame's packets to one receiver in one system call.
    #[serde(default)]
    pub run_ns: u64,
}

impl Latency {
    /// Microseconds that a plan may use up.
    pub fn planned_us(&self) -> u64 {
        self.limit_us * self.percent / 100
    }

    /// Microseconds from the first to the last copy of a frame, rounded up.
    ///
    /// A copy of a packet takes `replica_ns`. The first 64 connections belong to one core. Beyond
    /// them each core has an equal share.
    pub fn of_frame_us(&self, kind: &Kind, replica_ns: u64, cores: u64) -> u64 {
        let receivers = kind.participants.saturating_sub(1);
        let receivers = receivers.div_ceil(cores.max(1)).max(receivers.min(RECEIVERS_OF_A_CORE));
        let run = self.run_ns + kind.packets_of_frame() * replica_ns;
        receivers.saturating_mul(run).div_ceil(1_000)
    }
}
