//! The tables of a shard.

use std::collections::HashMap;
use std::sync::Arc;

use dataplane::{Counter, Leg, LegId, Path, Replica, ReplicaId, Stream, StreamKey};
use wire::Ssrc;

use crate::channel::{Generation, Source};
use crate::hash::Mixed;
use crate::shard::fanout::queues::FanoutQueues;
use crate::shard::leg::LegState;
use crate::shard::packet::Packet;
use crate::shard::replica::ReplicaState;
use crate::shard::routes::{Route, Routes};
use crate::shard::stream::StreamState;
use crate::slab::Slab;
use crate::sorted::{insert_sorted, remove_sorted};

/// The legs of a shard with their streams and replicas, each at a fixed slot.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) routes: Routes,
    pub(super) legs: Slab<LegState>,
    pub(super) leg_slots: HashMap<LegId, usize, Mixed>,
    pub(super) streams: Slab<StreamState>,
    pub(super) stream_slots: HashMap<Generation, usize, Mixed>,
    pub(super) replicas: Slab<ReplicaState>,
    pub(super) replica_slots: HashMap<ReplicaId, usize, Mixed>,
}

impl Tables {
    /// Adds a leg, or changes its entry.
    pub(super) fn set_leg(&mut self, id: LegId, entry: Leg) {
        let slot = match self.leg_slots.get(&id) {
            Some(slot) => {
                let before = &self.legs[*slot].entry;
                for path in before.paths.iter().filter(|_| before.shared.is_none()) {
                    self.routes.remove(path);
                }
                *slot
            }
            None => {
                let bare = Leg {
                    paths: Vec::new(),
                    ..entry.clone()
                };
                let slot = self.legs.insert(LegState::new(id, bare));
                self.leg_slots.insert(id, slot);
                slot
            }
        };
        for path in &entry.paths {
            match entry.shared {
                Some(ssrc) => self.routes.share(*path, ssrc, slot),
                None => self.routes.insert(*path, Route::Here(slot)),
            }
        }
        self.legs[slot].replace(entry);
    }

    /// Removes a leg with its streams and replicas.
    pub(super) fn remove_leg(&mut self, queues: &mut FanoutQueues, id: LegId) {
        let Some(slot) = self.leg_slots.remove(&id) else {
            return;
        };
        self.legs[slot].pace = None;
        for (id, _) in std::mem::take(&mut self.legs[slot].replicas) {
            self.remove_replica(queues, id);
        }
        for (_, stream) in std::mem::take(&mut self.legs[slot].streams) {
            let stream = self.streams.remove(stream);
            self.stream_slots.remove(&stream.generation);
            unshare(&mut self.routes, &self.legs[slot], stream.ssrcs());
        }
        let leg = self.legs.remove(slot);
        unshare(&mut self.routes, &leg, leg.entry.shared.into_iter());
        for path in leg.entry.paths.iter().filter(|_| leg.entry.shared.is_none()) {
            self.routes.remove(path);
        }
    }

    /// Sets or removes the shard that datagrams of a path belong to.
    pub(super) fn set_route(&mut self, path: Path, shard: Option<usize>) {
        match shard {
            Some(shard) => self.routes.insert(path, Route::Elsewhere(shard)),
            None => self.routes.remove(&path),
        }
    }

    /// Adds a stream, or changes its entry.
    pub(super) fn set_stream(&mut self, key: StreamKey, generation: Generation, entry: Stream) {
        let leg_slot = self.leg_slots[&key.leg];
        let leg = &mut self.legs[leg_slot];
        let slot = match self.stream_slots.get(&generation) {
            Some(slot) => {
                unshare(&mut self.routes, leg, self.streams[*slot].ssrcs());
                let before = self.streams[*slot].entry.rtx;
                leg.forget_descriptions(before.filter(|rtx| entry.rtx != Some(*rtx)));
                self.streams[*slot].replace(entry);
                leg.remove_ssrcs_of(*slot);
                *slot
            }
            None => {
                let slot = self.streams.insert(StreamState::new(key, generation, entry));
                self.stream_slots.insert(generation, slot);
                insert_sorted(&mut leg.streams, key.ssrc, slot);
                slot
            }
        };
        leg.add_ssrcs(self.streams[slot].ssrcs(), slot);
        for path in leg.entry.paths.iter().filter(|_| leg.entry.shared.is_some()) {
            for ssrc in self.streams[slot].ssrcs() {
                self.routes.share(*path, ssrc, leg_slot);
            }
        }
    }

    /// Removes a stream.
    pub(super) fn remove_stream(&mut self, key: StreamKey) {
        let slot = self.stream_slot(key);
        let leg = &mut self.legs[self.leg_slots[&key.leg]];
        leg.remove_ssrcs_of(slot);
        remove_sorted(&mut leg.streams, key.ssrc);
        let stream = self.streams.remove(slot);
        unshare(&mut self.routes, leg, stream.ssrcs());
        stream.ssrcs().for_each(|ssrc| leg.forget_descriptions(Some(ssrc)));
        self.stream_slots.remove(&stream.generation);
    }

    /// The slot of a stream of a leg here.
    pub(super) fn stream_slot(&self, key: StreamKey) -> usize {
        let leg = &self.legs[self.leg_slots[&key.leg]];
        leg.stream_of(key.ssrc)
            .expect("the control handle knows which streams there are")
    }

    /// Ends every replica of a stream.
    pub(super) fn forget(&mut self, queues: &mut FanoutQueues, generation: Generation) {
        for (_, slot) in queues.forget(generation) {
            self.replicas[slot].forget(generation);
        }
    }

    /// Adds a replica, or changes its entry.
    pub(super) fn set_replica(
        &mut self,
        queues: &mut FanoutQueues,
        id: ReplicaId,
        entry: Replica,
        source: Option<Source>,
    ) {
        let slot = match self.replica_slots.get(&id) {
            Some(slot) => {
                let slot = *slot;
                self.unlist(queues, slot);
                self.replicas[slot].replace(entry, source);
                slot
            }
            None => {
                let leg = self.leg_slots[&entry.leg];
                let slot = self.replicas.insert(ReplicaState::new(id, entry, leg, source));
                self.replica_slots.insert(id, slot);
                insert_sorted(&mut self.legs[leg].replicas, id, slot);
                slot
            }
        };
        for generation in self.replicas[slot].follows().into_iter().flatten() {
            queues.add(generation, id, slot);
        }
    }

    /// Removes a replica.
    pub(super) fn remove_replica(&mut self, queues: &mut FanoutQueues, id: ReplicaId) {
        let Some(slot) = self.replica_slots.remove(&id) else {
            return;
        };
        self.unlist(queues, slot);
        let replica = self.replicas.remove(slot);
        let leg = &mut self.legs[replica.leg];
        remove_sorted(&mut leg.replicas, id);
        if let Some(pace) = &mut leg.pace {
            pace.forget(slot);
        }
    }

    /// Removes a replica from every fan-out.
    fn unlist(&mut self, queues: &mut FanoutQueues, slot: usize) {
        let replica = &self.replicas[slot];
        for generation in replica.follows().into_iter().flatten() {
            queues.remove(generation, replica.id);
        }
    }

    /// A packet of a stream, if it is kept.
    pub(crate) fn cached(&self, generation: Generation, number: u64) -> Option<Arc<Packet>> {
        let slot = self.stream_slots.get(&generation)?;
        self.streams[*slot].cache.find(number).cloned()
    }

    /// The slot of the replica whose retransmission SSRC padding is sent on.
    pub(in crate::shard) fn may_pad(&self, leg: usize) -> Result<usize, Counter> {
        let leg = &self.legs[leg];
        leg.ready().ok_or(Counter::NotReady)?;
        let mut slots = leg.replicas.iter().map(|(_, slot)| *slot);
        slots
            .find(|slot| self.replicas[*slot].padding_type().is_some())
            .ok_or(Counter::NoRetransmission)
    }
}

/// The SSRCs are no longer this leg's, if it shares its path.
fn unshare(routes: &mut Routes, leg: &LegState, ssrcs: impl Iterator<Item = Ssrc>) {
    if let (Some(_), [path]) = (leg.entry.shared, &leg.entry.paths[..]) {
        ssrcs.for_each(|ssrc| routes.unshare(path, ssrc));
    }
}
