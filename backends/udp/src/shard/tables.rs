//! The tables of a shard.

use std::collections::HashMap;

use dataplane::{Leg, LegId, Path, Replica, ReplicaId, Stream, StreamKey};

use crate::channel::{Generation, Source};
use crate::hash::Mixed;
use crate::shard::fanout::queues::FanoutQueues;
use crate::shard::leg::LegState;
use crate::shard::replica::ReplicaState;
use crate::shard::routes::{Route, Routes};
use crate::shard::stream::StreamState;
use crate::slab::Slab;
use crate::sorted::{insert_sorted, remove_sorted};

/// The legs of a shard with their streams and replicas, each at a fixed place.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) routes: Routes,
    pub(super) legs: Slab<LegState>,
    pub(super) leg_places: HashMap<LegId, usize, Mixed>,
    pub(super) streams: Slab<StreamState>,
    pub(super) stream_places: HashMap<Generation, usize, Mixed>,
    pub(super) replicas: Slab<ReplicaState>,
    pub(super) replica_places: HashMap<ReplicaId, usize, Mixed>,
}

impl Tables {
    /// Adds a leg, or changes its entry.
    pub(super) fn set_leg(&mut self, id: LegId, entry: Leg) {
        let place = match self.leg_places.get(&id) {
            Some(place) => {
                for path in &self.legs[*place].entry.paths {
                    self.routes.remove(path);
                }
                *place
            }
            None => {
                let bare = Leg {
                    paths: Vec::new(),
                    ..entry.clone()
                };
                let place = self.legs.insert(LegState::new(id, bare));
                self.leg_places.insert(id, place);
                place
            }
        };
        for path in &entry.paths {
            self.routes.insert(*path, Route::Here(place));
        }
        self.legs[place].replace(entry);
    }

    /// Removes a leg with its streams and replicas.
    pub(super) fn remove_leg(&mut self, queues: &mut FanoutQueues, id: LegId) {
        let Some(place) = self.leg_places.remove(&id) else {
            return;
        };
        self.legs[place].pace = None;
        for (id, _) in std::mem::take(&mut self.legs[place].replicas) {
            self.remove_replica(queues, id);
        }
        for (_, stream) in std::mem::take(&mut self.legs[place].streams) {
            let stream = self.streams.remove(stream);
            self.stream_places.remove(&stream.generation);
        }
        let leg = self.legs.remove(place);
        for path in &leg.entry.paths {
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
        let leg = &mut self.legs[self.leg_places[&key.leg]];
        let place = match self.stream_places.get(&generation) {
            Some(place) => {
                let before = self.streams[*place].entry.rtx;
                leg.forget_descriptions(before.filter(|rtx| entry.rtx != Some(*rtx)));
                self.streams[*place].replace(entry);
                leg.remove_ssrcs_of(*place);
                *place
            }
            None => {
                let place = self.streams.insert(StreamState::new(key, generation, entry));
                self.stream_places.insert(generation, place);
                insert_sorted(&mut leg.streams, key.ssrc, place);
                place
            }
        };
        leg.add_ssrcs(self.streams[place].ssrcs(), place);
    }

    /// Removes a stream.
    pub(super) fn remove_stream(&mut self, key: StreamKey) {
        let place = self.stream_place(key);
        let leg = &mut self.legs[self.leg_places[&key.leg]];
        leg.remove_ssrcs_of(place);
        remove_sorted(&mut leg.streams, key.ssrc);
        let stream = self.streams.remove(place);
        stream.ssrcs().for_each(|ssrc| leg.forget_descriptions(Some(ssrc)));
        self.stream_places.remove(&stream.generation);
    }

    /// The place of a stream of a leg here.
    pub(super) fn stream_place(&self, key: StreamKey) -> usize {
        let leg = &self.legs[self.leg_places[&key.leg]];
        leg.stream_of(key.ssrc)
            .expect("the control handle knows which streams there are")
    }

    /// Ends every replica of a stream.
    pub(super) fn forget(&mut self, queues: &mut FanoutQueues, generation: Generation) {
        for (_, place) in queues.forget(generation) {
            self.replicas[place].forget(generation);
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
        let place = match self.replica_places.get(&id) {
            Some(place) => {
                let place = *place;
                self.unlist(queues, place);
                self.replicas[place].replace(entry, source);
                place
            }
            None => {
                let leg = self.leg_places[&entry.leg];
                let place = self.replicas.insert(ReplicaState::new(id, entry, leg, source));
                self.replica_places.insert(id, place);
                insert_sorted(&mut self.legs[leg].replicas, id, place);
                place
            }
        };
        for generation in self.replicas[place].follows().into_iter().flatten() {
            queues.add(generation, id, place);
        }
    }

    /// Removes a replica.
    pub(super) fn remove_replica(&mut self, queues: &mut FanoutQueues, id: ReplicaId) {
        let Some(place) = self.replica_places.remove(&id) else {
            return;
        };
        self.unlist(queues, place);
        let replica = self.replicas.remove(place);
        let leg = &mut self.legs[replica.leg];
        remove_sorted(&mut leg.replicas, id);
        if let Some(pace) = &mut leg.pace {
            pace.forget(place);
        }
    }

    /// Removes a replica from every fan-out.
    fn unlist(&mut self, queues: &mut FanoutQueues, place: usize) {
        let replica = &self.replicas[place];
        for generation in replica.follows().into_iter().flatten() {
            queues.remove(generation, replica.id);
        }
    }
}
