//! Entries that carry no media.

use dataplane::{LegId, Replica, ReplicaId, StreamKey, Update};
use wire::{MediaKind, Ssrc};

use crate::device::Device;
use crate::entries;

const STREAMS: [MediaKind; 3] = [MediaKind::Audio, MediaKind::Video, MediaKind::Video];
const REPLICAS: u32 = 16;
/// Entries of one leg, itself included.
const ENTRIES: u32 = 1 + STREAMS.len() as u32 + REPLICAS;

/// Entries of idle transports, each with keys, three streams, and sixteen replicas of its
/// neighbours' streams: a million entries are within the device's limits on each of its tables.
pub(crate) struct Ballast {
    /// The names of the first ones; the others follow.
    leg: LegId,
    replica: ReplicaId,
    count: u32,
}

impl Ballast {
    /// None yet. Nobody else may add legs or replicas to the device from now on.
    pub(crate) fn new(device: &mut Device) -> Self {
        Ballast {
            leg: device.next_leg(),
            replica: device.next_replica(),
            count: 0,
        }
    }

    /// The next entry to add.
    pub(crate) fn next(&mut self) -> Update {
        let leg = self.count / ENTRIES;
        let at = self.count % ENTRIES;
        self.count += 1;
        let streams = STREAMS.len() as u32;
        match at {
            0 => Update::SetLeg(self.leg(leg), entries::leg(self.leg(leg))),
            stream if stream <= streams => {
                let stream = stream as usize - 1;
                Update::SetStream(self.stream(leg, stream), entries::stream(STREAMS[stream]))
            }
            replica => {
                let (id, replica) = self.replica(leg * REPLICAS + replica - streams - 1);
                Update::SetReplica(id, replica)
            }
        }
    }

    /// How many replicas were added.
    pub(crate) fn replicas(&self) -> u32 {
        let of_last = (self.count % ENTRIES).saturating_sub(ENTRIES - REPLICAS);
        self.count / ENTRIES * REPLICAS + of_last
    }

    /// The replica with this number, as it was added.
    pub(crate) fn replica(&self, number: u32) -> (ReplicaId, Replica) {
        let (leg, number_there) = (number / REPLICAS, number as usize % REPLICAS as usize);
        let back = (number_there / STREAMS.len()) as u32;
        let stream = number_there % STREAMS.len();
        let source = self.stream(leg.saturating_sub(1 + back), stream);
        let id = ReplicaId(self.replica.0 + number);
        (id, entries::replica(self.leg(leg), 2 * id.0, source, STREAMS[stream]))
    }

    fn leg(&self, number: u32) -> LegId {
        LegId(self.leg.0 + number)
    }

    fn stream(&self, leg: u32, stream: usize) -> StreamKey {
        StreamKey {
            leg: self.leg(leg),
            ssrc: Ssrc(0x100 + stream as u32),
        }
    }
}
