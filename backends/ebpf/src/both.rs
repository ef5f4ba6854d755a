//! Relays and rooms in the kernel, as one offload.

use std::net::SocketAddr;
use std::time::Instant;

use dataplane::{
    Counters, Event, LegId, Offload, Reason, Refused, RelayTraffic, ReplicaId, ReplicaSnapshot, ReplicaStatistics,
    StreamKey, StreamStatistics, Update,
};

use crate::{Fanout, RelayOffload};

/// [`RelayOffload`], and [`Fanout`] where rooms are wanted, too. Each has tables of its own, and
/// neither sees what the other takes: relays are looked for first, in the driver, and rooms behind
/// it.
pub struct Both {
    relays: RelayOffload,
    rooms: Option<Fanout>,
}

impl Both {
    /// Puts them together.
    pub fn new(relays: RelayOffload, rooms: Option<Fanout>) -> Self {
        Both { relays, rooms }
    }
}

impl Offload for Both {
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused> {
        match (update, &mut self.rooms) {
            (Update::SetRelay(..) | Update::RemoveRelay(_), _) => self.relays.offer(now, update),
            (_, Some(rooms)) => rooms.offer(now, update),
            (_, None) => Err(Refused::Unsupported(Reason::Table)),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        self.relays.poll().or_else(|| self.rooms.as_mut()?.poll())
    }

    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        self.relays.relay_traffic(at)
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.relays.counters();
        if let Some(rooms) = &mut self.rooms {
            counters.add(&rooms.counters());
        }
        counters
    }

    fn takes_replicas(&self) -> bool {
        self.rooms.is_some()
    }

    fn sends(&self, replica: ReplicaId) -> bool {
        self.rooms.as_ref().is_some_and(|rooms| rooms.sends(replica))
    }

    fn next_candidate(&mut self) -> Option<ReplicaId> {
        self.rooms.as_mut()?.next_candidate()
    }

    fn take_over(
        &mut self,
        replica: ReplicaId,
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) -> Result<(), Refused> {
        match &mut self.rooms {
            Some(rooms) => rooms.take_over(replica, from, transport_sequence),
            None => Err(Refused::Gone),
        }
    }

    fn snapshot(&self, replica: ReplicaId) -> Option<ReplicaSnapshot> {
        self.rooms.as_ref()?.snapshot(replica)
    }

    fn nack(&mut self, now: Instant, replica: ReplicaId, sequences: &[u16]) {
        if let Some(rooms) = &mut self.rooms {
            rooms.nack(now, replica, sequences);
        }
    }

    fn probe(&mut self, leg: LegId, probe: u32, rate: u64, bytes: u32, packets: u32) -> bool {
        let rooms = self.rooms.as_mut();
        rooms.is_some_and(|rooms| rooms.probe(leg, probe, rate, bytes, packets))
    }

    fn next_stamped(&mut self) -> Option<LegId> {
        self.rooms.as_mut()?.next_stamped()
    }

    fn replica_statistics(&self, replica: ReplicaId) -> Option<ReplicaStatistics> {
        self.rooms.as_ref()?.replica_statistics(replica)
    }

    fn stream_statistics(&self, stream: StreamKey) -> Option<StreamStatistics> {
        self.rooms.as_ref()?.stream_statistics(stream)
    }
}
