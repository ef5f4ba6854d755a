//! The numbers of RTCP reports.
//!
//! Source: RFC 3550 section 6.4.

use crate::StreamKey;

/// The numbers of a receiver report about a stream (RFC 3550 section 6.4.1 and appendix A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamStatistics {
    /// Media packets that arrived, each number once.
    pub packets: u64,
    /// Their bytes of UDP payload.
    pub octets: u64,
    /// Extended number of the first packet.
    pub first: u64,
    /// Highest extended number.
    pub highest: u64,
    /// Interarrival jitter in RTP timestamp units.
    pub jitter: u32,
}

/// The numbers of a sender report about a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaStatistics {
    /// Packets sent, without retransmissions.
    pub packets: u64,
    /// Their payload octets, without header and padding.
    pub octets: u64,
    /// Retransmissions sent.
    pub resent: u64,
    /// The stream it forwards.
    pub source: Option<StreamKey>,
    /// The offset that is added to the source's timestamps.
    pub timestamp_offset: u32,
}

impl ReplicaStatistics {
    /// The same with what another device, or another place of this one, has sent as well.
    #[must_use]
    pub fn with_counts_of(self, other: &ReplicaStatistics) -> Self {
        ReplicaStatistics {
            packets: self.packets + other.packets,
            octets: self.octets + other.octets,
            resent: self.resent + other.resent,
            ..self
        }
    }
}
