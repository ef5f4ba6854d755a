//! The packets of a replica that the switch has sent, each time that it was there.
//!
//! A sender report tells all packets of an SSRC since its first, so what the switch has sent is
//! counted after a replica has left it as well. The counter of its last packets is read while its
//! index rests ([`Slots`](crate::slots::Slots)).

use dataplane::ReplicaStatistics;

use super::LegRow;
use crate::cells::{Cell, Cells};

/// Ethernet, IP, UDP and RTP headers of a copy without extensions, in bytes.
const HEADERS_V4: u64 = 14 + 20 + 8 + 12;
const HEADERS_V6: u64 = 14 + 40 + 8 + 12;

/// The counter of a replica on the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentCell {
    pub index: u32,
    /// The bytes of each packet that the switch counts and a sender report does not.
    pub headers: u64,
}

/// The packets of a replica that the switch had sent before the replica left.
#[derive(Debug, Default)]
pub(super) struct Sent {
    earlier: ReplicaStatistics,
    resting: Vec<SentCell>,
}

impl SentCell {
    /// That of a replica with this index to a leg.
    pub(super) fn of(leg: Option<&LegRow>, index: u32) -> Self {
        let remote = leg.and_then(|leg| leg.leg.paths.first()).map(|path| path.remote);
        let is_ipv4 = remote.is_none_or(|remote| remote.is_ipv4());
        let headers = if is_ipv4 { HEADERS_V4 } else { HEADERS_V6 };
        SentCell { index, headers }
    }

    pub(super) fn counts(self, cells: &Cells) -> ReplicaStatistics {
        let count = cells.get(Cell::Sent(self.index));
        ReplicaStatistics {
            packets: count.packets,
            octets: count.bytes.saturating_sub(count.packets * self.headers),
            ..ReplicaStatistics::default()
        }
    }
}

impl Sent {
    /// All of it, as far as the counters have been read.
    pub(super) fn counts(&self, cells: &Cells) -> ReplicaStatistics {
        let resting = self.resting.iter().map(|cell| cell.counts(cells));
        resting.fold(self.earlier, |sum, counts| sum.with_counts_of(&counts))
    }

    /// The replica leaves the switch, and its index begins to rest.
    pub(super) fn leave(&mut self, cell: SentCell) {
        self.resting.push(cell);
    }

    /// An index has rested, and may be another replica's from now on.
    pub(super) fn settle(&mut self, index: u32, cells: &Cells) {
        let (over, resting) = self.resting.iter().partition(|cell| cell.index == index);
        self.resting = resting;
        let over: Vec<SentCell> = over;
        for cell in over {
            self.earlier = self.earlier.with_counts_of(&cell.counts(cells));
        }
    }
}
