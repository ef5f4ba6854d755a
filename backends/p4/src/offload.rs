//! The contract of offloads, kept: the agent's side of the driver.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{
    Answer, Candidate, Counter, Counters, Event, LegId, Offload, Reason, Refused, Relay, RelayTraffic, ReplicaId,
    ReplicaOffload, ReplicaSnapshot, ReplicaStatistics, Statistics, StreamKey, StreamStatistics, Update, WriteId,
    Written,
};

use crate::context::Context;
use crate::core::Core;
use crate::counter::{VERDICTS, meaning};
use crate::report::Report;
use crate::rooms::Rooms;
use crate::shared::Holder;

/// Relays on the switch, as an offload.
///
/// It takes relays that neither decrypt nor encrypt, accept from one address and send from another
/// local port; of them, only RTP. The rest is left to the base.
pub struct P4Relays(pub(crate) Arc<Holder>);

/// Rooms on the switch, as an offload.
///
/// It takes replicas without encryption, retransmissions or transport-wide numbers. Packets of
/// their streams also go to the base.
pub struct P4Rooms(pub(crate) Arc<Holder>);

/// Handles an input of the agent, and tells the connection that there may be something to write.
fn with<T>(holder: &Holder, now: Option<Instant>, act: impl FnOnce(&mut Core) -> T) -> T {
    let mut core = holder.0.core();
    if let Some(now) = now {
        core.at(now);
    }
    let done = act(&mut core);
    drop(core);
    holder.0.work.notify_one();
    done
}

impl Offload for P4Relays {
    fn offer(&mut self, now: Instant, write: WriteId, at: SocketAddr, relay: Option<&Relay>) -> Answer {
        with(&self.0, Some(now), |core| {
            core.with(|relays, _, context| match relay {
                Some(relay) => relays.set(context, write, at, relay),
                None => relays.remove(context, write, at),
            })
        })
    }

    fn next_written(&mut self) -> Option<Written> {
        self.0.0.core().relays.next_written()
    }

    fn answers(&self) -> bool {
        self.0.0.core().link.away().is_none()
    }

    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        self.0.0.core().with(|relays, _, context| relays.traffic(context, at))
    }

    fn counters(&mut self) -> Counters {
        let relayed = self.0.0.core().relayed();
        let mut counters = Counters::default();
        counters[Counter::Received] = relayed;
        counters[Counter::Relayed] = relayed;
        counters
    }

    fn name(&self) -> &'static str {
        "switch"
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        vec![Arc::new(Report(self.0.0.clone()))]
    }
}

impl P4Rooms {
    fn with<T>(&self, now: Option<Instant>, act: impl FnOnce(&mut Rooms, &mut Context<'_>) -> T) -> T {
        with(&self.0, now, |core| core.with(|_, rooms, context| act(rooms, context)))
    }

    fn read<T>(&self, act: impl FnOnce(&mut Rooms) -> T) -> T {
        act(&mut self.0.0.core().rooms)
    }
}

impl ReplicaOffload for P4Rooms {
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused> {
        self.with(Some(now), |rooms, context| match update {
            Update::SetLeg(id, leg) => rooms.set_leg(context, *id, leg.clone()),
            Update::SetStream(key, stream) => rooms.set_stream(context, *key, stream.clone()),
            Update::SetReplica(id, replica) => rooms.set_replica(context, *id, replica.clone()),
            Update::RemoveLeg(id) => {
                rooms.remove_leg(context, *id);
                Ok(())
            }
            Update::RemoveStream(key) => {
                rooms.remove_stream(context, *key);
                Ok(())
            }
            Update::RemoveReplica(id) => {
                rooms.remove_replica(context, *id);
                Ok(())
            }
            // Nothing waits in the switch: a pace is the base's. So are the counts of its packets.
            Update::SetPace(_, None) | Update::SetCopied(..) | Update::RemoveRelay(_) => Ok(()),
            Update::SetFeedback(from, to) => rooms.set_feedback(context, *from, *to),
            Update::SetPace(_, Some(_)) | Update::SetRelay(..) => Err(Refused::Unsupported(Reason::Table)),
        })
    }

    fn poll(&mut self) -> Option<Event> {
        self.read(Rooms::next_event)
    }

    fn counters(&mut self) -> Counters {
        let core = self.0.0.core();
        let mut counters = Counters::default();
        for verdict in VERDICTS {
            if let Some(meaning) = meaning(verdict) {
                counters[meaning] += core.verdict(verdict);
            }
        }
        counters
    }

    fn sends(&self, replica: ReplicaId) -> bool {
        self.read(|rooms| rooms.sends(replica))
    }

    fn snapshot(&self, replica: ReplicaId) -> Option<ReplicaSnapshot> {
        self.read(|rooms| rooms.snapshot(replica))
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        let (replica, at_key_frame) = self.read(Rooms::next_candidate)?;
        Some(Candidate { replica, at_key_frame })
    }

    fn take_over(
        &mut self,
        write: WriteId,
        replica: ReplicaId,
        from: Option<ReplicaSnapshot>,
        _transport_sequence: u16,
    ) -> Answer {
        self.with(None, |rooms, context| rooms.take_over(context, write, replica, from))
    }

    fn next_written(&mut self) -> Option<Written> {
        self.read(Rooms::next_written)
    }

    fn withdraw(&mut self, replica: ReplicaId) {
        self.with(None, |rooms, context| rooms.withdraw(context, replica));
    }

    fn next_returned(&mut self) -> Option<ReplicaId> {
        self.read(Rooms::next_returned)
    }

    fn nack(&mut self, _now: Instant, replica: ReplicaId, sequences: &[u16]) {
        self.read(|rooms| rooms.nack(replica, sequences));
    }

    fn next_stamped(&mut self) -> Option<LegId> {
        None
    }

    fn writes_transport_numbers(&self) -> bool {
        false
    }

    fn forwards_rtcp(&self) -> bool {
        true
    }

    fn replica_statistics(&self, replica: ReplicaId) -> Option<ReplicaStatistics> {
        self.0
            .0
            .core()
            .with(|_, rooms, context| rooms.statistics(context, replica))
    }

    /// The base sees every packet of a stream and counts them itself.
    fn stream_statistics(&self, _stream: StreamKey) -> Option<StreamStatistics> {
        None
    }

    fn name(&self) -> &'static str {
        "switch"
    }
}
