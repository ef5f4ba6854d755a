//! Rooms: one offload, which sends some of the replicas. Several in a row are one layer in front of
//! another, since a layer is a data plane too.

mod taking_over;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{
    Capabilities, Counters, DataPlane, Event, Inject, LegId, Refused, ReplicaOffload, Statistics, Update, WriteError,
    WriteId,
};

use crate::Places;
use crate::handover::Handovers;
use crate::muted::MutedReplicas;
use crate::numbering::Numbering;
use crate::take_overs::TakeOvers;

/// A base with an offload for replicas in front of it.
#[derive(Debug)]
pub struct ReplicaLayer<B, O> {
    base: B,
    offload: O,
    places: Places,
    muted: MutedReplicas,
    handovers: Handovers,
    numbering: Numbering,
    take_overs: TakeOvers,
    /// Events of this layer's own.
    events: VecDeque<Event>,
    writes: u64,
    /// When the agent last said what time it is.
    now: Option<Instant>,
}

impl<B: DataPlane, O: ReplicaOffload> ReplicaLayer<B, O> {
    /// Puts an offload in front of a base. Neither may have entries of this layer yet.
    pub fn new(base: B, offload: O) -> Self {
        ReplicaLayer {
            base,
            offload,
            places: Places::default(),
            muted: MutedReplicas::default(),
            handovers: Handovers::default(),
            numbering: Numbering::default(),
            take_overs: TakeOvers::default(),
            events: VecDeque::new(),
            writes: 0,
            now: None,
        }
    }

    /// The base.
    pub fn base(&self) -> &B {
        &self.base
    }

    /// The same, to be used for what is not an entry.
    pub fn base_mut(&mut self) -> &mut B {
        &mut self.base
    }

    /// The offload.
    pub fn offload(&self) -> &O {
        &self.offload
    }

    /// The same, to be used for what is not an entry.
    pub fn offload_mut(&mut self) -> &mut O {
        &mut self.offload
    }

    /// The place of each entry, readable while this runs.
    pub fn places(&self) -> Places {
        self.places.clone()
    }

    /// The base gets an entry first, so that one side always has it.
    fn set(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        let told = self.numbering.for_base(self.muted.for_base(&update));
        self.base.write(now, told)?;
        self.numbering.keep(&update);
        let answer = self.offload.offer(now, &update);
        self.places.offered(&update, self.offload.name(), answer);
        self.hand_over_stamps(now)?;
        self.handovers.heed(&update, &self.muted);
        let changes = self
            .muted
            .changes(&update, &self.offload, |id| self.handovers.is_pending(id));
        self.apply(now, changes)
    }

    /// The offload loses it first, for the same reason.
    fn remove(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        let answer = self.offload.offer(now, &update);
        self.places.offered(&update, self.offload.name(), answer);
        self.muted.forget(&update);
        self.handovers.heed(&update, &self.muted);
        self.take_overs.forget(&update);
        self.numbering.forget(&update);
        self.hand_over_stamps(now)?;
        self.tell_copied(now);
        self.base.write(now, update)
    }

    /// RTCP reaches the base after it was forwarded here, so only one of the two forwards it.
    fn forward_rtcp(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        if self.offload.forwards_rtcp() && self.offload.offer(now, &update).is_ok() {
            return Ok(());
        }
        self.base.write(now, update)
    }

    /// Gives the base the states of replicas that continue there, and then their changes.
    fn apply(&mut self, now: Instant, changes: Vec<Update>) -> Result<(), WriteError> {
        let snapshots = self.muted.take_snapshots();
        for (replica, from) in &snapshots {
            let (replica, from) = (*replica, *from);
            self.base.inject(now, Inject::Resume { replica, from });
        }
        changes
            .into_iter()
            .try_for_each(|change| self.base.write(now, change))?;
        for (replica, from) in snapshots {
            self.report_awaited(replica, Some(from));
        }
        self.tell_copied(now);
        Ok(())
    }

    /// Tells the base which streams the offload copies. They may be gone, which is no fault.
    fn tell_copied(&mut self, now: Instant) {
        while let Some(update) = self.muted.next_update() {
            let _ = self.base.write(now, update);
        }
    }

    /// Handles the offload's answers and losses since the last call.
    fn settle(&mut self, now: Instant) {
        while let Some(written) = self.offload.next_written() {
            self.written(now, written);
        }
        self.end_overdue(now);
        while let Some(id) = self.offload.next_returned() {
            let from = self.offload.snapshot(id);
            self.give_back(now, id, from, Refused::Gone);
        }
    }

    fn next_write(&mut self) -> WriteId {
        self.writes += 1;
        WriteId(self.writes)
    }

    /// One move of a leg's replicas is over.
    fn close(&mut self, now: Instant, leg: LegId) {
        // A leg that is gone has nothing to be stamped.
        let _ = self.hand_over_stamps(now);
        if !self.handovers.has(leg) {
            let change = self.numbering.give_back(leg);
            self.tell_base(now, change);
        }
    }

    /// Writes an entry that the base has already in another form, so that it cannot be refused.
    fn tell_base(&mut self, now: Instant, change: Option<Update>) {
        if let Some(change) = change {
            let _ = self.base.write(now, change);
        }
    }

    /// The base's next event that is for the agent.
    fn next_of_base(&mut self) -> Option<Event> {
        loop {
            let event = self.base.poll()?;
            let Event::Released {
                replica,
                from,
                transport_sequence,
            } = event
            else {
                return Some(event);
            };
            match (self.handovers.answered(replica), self.now) {
                (Some(answered), Some(now)) => {
                    self.hand_over(now, replica, answered, from, transport_sequence);
                }
                // The agent asked for this itself.
                _ => return Some(event),
            }
        }
    }

    /// Has the base stamp no packets to legs where the offload does from now on.
    fn hand_over_stamps(&mut self, now: Instant) -> Result<(), WriteError> {
        while let Some(leg) = self.offload.next_stamped() {
            if let Some(change) = self.numbering.take_over(leg) {
                self.base.write(now, change)?;
            }
        }
        Ok(())
    }
}

impl<B: DataPlane, O: ReplicaOffload> DataPlane for ReplicaLayer<B, O> {
    fn capabilities(&self) -> Capabilities {
        let base = self.base.capabilities();
        Capabilities {
            copies: true,
            forwards_rtcp: base.forwards_rtcp || self.offload.forwards_rtcp(),
            transport_numbers: base.transport_numbers && self.offload.writes_transport_numbers(),
            ..base
        }
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        self.now = Some(now);
        match update {
            Update::SetLeg(..) | Update::SetPace(..) | Update::SetStream(..) | Update::SetReplica(..) => {
                self.set(now, update)
            }
            Update::RemoveLeg(_) | Update::RemoveStream(_) | Update::RemoveReplica(_) => self.remove(now, update),
            Update::SetFeedback(..) => self.forward_rtcp(now, update),
            Update::SetCopied(..) | Update::SetRelay(..) | Update::RemoveRelay(_) => self.base.write(now, update),
        }
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        self.now = Some(now);
        match what {
            // The base has nothing of it that its receiver would know.
            Inject::Resend { replica, sequences } if self.offload.sends(replica) => {
                return self.offload.nack(now, replica, sequences);
            }
            Inject::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } if self.offload.probe(leg, probe, rate, bytes, packets) => return,
            _ => {}
        }
        self.base.inject(now, what);
    }

    fn poll(&mut self) -> Option<Event> {
        if let Some(now) = self.now {
            self.settle(now);
            self.ask_for_replicas(now);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        match self.next_of_base() {
            Some(Event::Replica(id, there)) => {
                let here = self.offload.replica_statistics(id).unwrap_or_default();
                let both = match self.offload.sends(id) {
                    true => here.with_counts_of(&there),
                    false => there.with_counts_of(&here),
                };
                Some(Event::Replica(id, both))
            }
            Some(Event::Stream(key, there)) => {
                let here = self.offload.stream_statistics(key).unwrap_or_default();
                // If packets also go to the base, it has counted the same packets, and more.
                Some(Event::Stream(
                    key,
                    if here.packets > there.packets { here } else { there },
                ))
            }
            Some(event) => Some(event),
            None => self.offload.poll(),
        }
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.base.counters();
        counters.add(&self.offload.counters());
        counters
    }

    fn statistics(&self) -> Vec<Arc<dyn Statistics>> {
        let places: Arc<dyn Statistics> = Arc::new(self.places.clone());
        let below = self.base.statistics();
        self.offload
            .statistics()
            .into_iter()
            .chain([places])
            .chain(below)
            .collect()
    }

    fn ping_workers(&mut self) {
        self.base.ping_workers();
    }

    fn workers_answered(&mut self) -> bool {
        self.base.workers_answered()
    }
}
