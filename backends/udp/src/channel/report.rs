//! The reports of a worker.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{
    Arrival, Departure, LegId, Path, PuntKind, RelayTraffic, ReplicaId, ReplicaSnapshot, ReplicaStatistics, StreamKey,
    StreamStatistics,
};
use wire::codec::Layer;
use wire::{Mid, PayloadType, Rid, Ssrc};

/// A packet of an unknown stream: its SSRC, MID, RID and repaired RID.
pub(crate) type UnknownStream = (Ssrc, Option<Mid>, Option<Rid>, Option<Rid>);

/// How many sent packets one report contains: a whole run, most often.
const DEPARTED_MAX: usize = 12;

/// One report. It is small, so that the ring is; rare and large values are boxed.
#[derive(Debug)]
pub(crate) enum Report {
    Punt(Arc<Punted>),
    UnknownStream(Box<(LegId, PayloadType, UnknownStream)>),
    Arrival(LegId, Arrival),
    Departed(Departed),
    /// The source of a replica, the highest layer it gets, and whether it waits for a key frame.
    Selected(ReplicaId, (StreamKey, Layer, bool)),
    /// The snapshot of a replica that this shard has released, if there is one, and its leg's next
    /// transport-wide number.
    Released(Box<(ReplicaId, Option<ReplicaSnapshot>, u16)>),
    Stream(Box<(StreamKey, StreamStatistics)>),
    Replica(Box<(ReplicaId, ReplicaStatistics)>),
    /// A relay has learned this source address.
    RelaySource(Box<Path>),
    RelayTraffic(Box<(SocketAddr, RelayTraffic, Option<Instant>)>),
}

const _: () = assert!(
    size_of::<Report>() <= 64,
    "tens of thousands of reports wait in each ring"
);

/// Packets sent together on one leg, with consecutive transport-wide numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departed {
    pub(crate) leg: LegId,
    pub(crate) at: Instant,
    probe: Option<u32>,
    first: u16,
    count: u8,
    sizes: [u16; DEPARTED_MAX],
}

impl Departed {
    pub(crate) fn new(leg: LegId, first: &Departure) -> Self {
        let mut sizes = [0; DEPARTED_MAX];
        sizes[0] = first.size;
        Departed {
            leg,
            at: first.at,
            probe: first.probe,
            first: first.transport_sequence,
            count: 1,
            sizes,
        }
    }

    /// Adds a packet, if it fits into the same report.
    pub(crate) fn takes(&mut self, next: &Departure) -> bool {
        let number = self.first.wrapping_add(self.count.into());
        let is_alike = (number, self.at, self.probe) == (next.transport_sequence, next.at, next.probe);
        let takes = is_alike && usize::from(self.count) < DEPARTED_MAX;
        if takes {
            self.sizes[usize::from(self.count)] = next.size;
            self.count += 1;
        }
        takes
    }

    /// One packet after the other.
    pub(crate) fn each(&self) -> impl ExactSizeIterator<Item = Departure> {
        let sizes = self.sizes.into_iter().take(self.count.into()).enumerate();
        let (at, first, probe) = (self.at, self.first, self.probe);
        sizes.map(move |(index, size)| Departure {
            at,
            transport_sequence: first.wrapping_add(index as u16),
            size,
            probe,
        })
    }
}

/// A punted datagram, on loan to the agent's thread.
#[derive(Clone, Debug)]
pub(crate) struct Punted {
    pub(crate) kind: PuntKind,
    pub(crate) at: Instant,
    pub(crate) path: Path,
    pub(crate) leg: Option<LegId>,
    pub(crate) bytes: Vec<u8>,
}

/// A datagram to punt, where it was received.
pub(crate) struct PuntedRef<'a> {
    pub(crate) kind: PuntKind,
    pub(crate) at: Instant,
    pub(crate) path: Path,
    pub(crate) leg: Option<LegId>,
    pub(crate) bytes: &'a [u8],
    /// Whether the agent need not be woken for it at once.
    pub(crate) may_wait: bool,
}

impl PuntedRef<'_> {
    pub(crate) fn to_owned(&self) -> Punted {
        Punted {
            kind: self.kind,
            at: self.at,
            path: self.path,
            leg: self.leg,
            bytes: self.bytes.to_vec(),
        }
    }

    pub(crate) fn write(&self, into: &mut Punted) {
        into.bytes.clear();
        into.bytes.extend_from_slice(self.bytes);
        (into.kind, into.at, into.path, into.leg) = (self.kind, self.at, self.path, self.leg);
    }
}
