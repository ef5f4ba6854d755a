//! Devices whose type is chosen at run time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::{
    Answer, Candidate, Capabilities, Counters, DataPlane, Event, Inject, LegId, Offload, Refused, Relay, RelayTraffic,
    ReplicaId, ReplicaOffload, ReplicaSnapshot, ReplicaStatistics, Statistics, StreamKey, StreamStatistics, Update,
    WriteError, WriteId, Written,
};

impl<T: DataPlane + ?Sized> DataPlane for Box<T> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        (**self).write(now, update)
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        (**self).inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        (**self).poll()
    }

    fn counters(&mut self) -> Counters {
        (**self).counters()
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        (**self).statistics()
    }

    fn ping_workers(&mut self) {
        (**self).ping_workers();
    }

    fn workers_answered(&mut self) -> bool {
        (**self).workers_answered()
    }
}

impl<T: Offload + ?Sized> Offload for Box<T> {
    fn offer(&mut self, now: Instant, write: WriteId, at: SocketAddr, relay: Option<&Relay>) -> Answer {
        (**self).offer(now, write, at, relay)
    }

    fn next_written(&mut self) -> Option<Written> {
        (**self).next_written()
    }

    fn answers(&self) -> bool {
        (**self).answers()
    }

    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        (**self).relay_traffic(at)
    }

    fn counters(&mut self) -> Counters {
        (**self).counters()
    }

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        (**self).statistics()
    }
}

impl<T: ReplicaOffload + ?Sized> ReplicaOffload for Box<T> {
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused> {
        (**self).offer(now, update)
    }

    fn poll(&mut self) -> Option<Event> {
        (**self).poll()
    }

    fn counters(&mut self) -> Counters {
        (**self).counters()
    }

    fn sends(&self, replica: ReplicaId) -> bool {
        (**self).sends(replica)
    }

    fn snapshot(&self, replica: ReplicaId) -> Option<ReplicaSnapshot> {
        (**self).snapshot(replica)
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        (**self).next_candidate()
    }

    fn take_over(
        &mut self,
        write: WriteId,
        replica: ReplicaId,
        from: Option<ReplicaSnapshot>,
        transport_sequence: u16,
    ) -> Answer {
        (**self).take_over(write, replica, from, transport_sequence)
    }

    fn next_written(&mut self) -> Option<Written> {
        (**self).next_written()
    }

    fn withdraw(&mut self, replica: ReplicaId) {
        (**self).withdraw(replica);
    }

    fn next_returned(&mut self) -> Option<ReplicaId> {
        (**self).next_returned()
    }

    fn nack(&mut self, now: Instant, replica: ReplicaId, sequences: &[u16]) {
        (**self).nack(now, replica, sequences);
    }

    fn next_stamped(&mut self) -> Option<LegId> {
        (**self).next_stamped()
    }

    fn writes_transport_numbers(&self) -> bool {
        (**self).writes_transport_numbers()
    }

    fn forwards_rtcp(&self) -> bool {
        (**self).forwards_rtcp()
    }

    fn probe(&mut self, leg: LegId, probe: u32, rate: u64, bytes: u32, packets: u32) -> bool {
        (**self).probe(leg, probe, rate, bytes, packets)
    }

    fn replica_statistics(&self, replica: ReplicaId) -> Option<ReplicaStatistics> {
        (**self).replica_statistics(replica)
    }

    fn stream_statistics(&self, stream: StreamKey) -> Option<StreamStatistics> {
        (**self).stream_statistics(stream)
    }

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        (**self).statistics()
    }
}
