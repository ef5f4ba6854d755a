//! Applying commands to the tables.

use std::time::Instant;

use dataplane::{Leg, LegId, Path, Protection, Replica, ReplicaId, ReplicaSnapshot, Stream, StreamKey};

use crate::channel::{Generation, Report, ShardCommand, Source};
use crate::shard::Shard;
use crate::shard::leg::LegState;
use crate::shard::replica::ReplicaState;
use crate::shard::routes::Route;
use crate::shard::stream::StreamState;
use crate::sorted::{insert_sorted, remove_sorted};

/// How many commands are applied before packets are processed.
const COMMANDS_PER_TURN: usize = 256;

impl Shard {
    /// Applies commands of the control handle; returns how many.
    pub fn take_commands(&mut self, now: Instant) -> usize {
        for taken in 0..COMMANDS_PER_TURN {
            let Ok(command) = self.commands.pop() else {
                return taken;
            };
            self.apply(now, command);
        }
        COMMANDS_PER_TURN
    }

    fn apply(&mut self, now: Instant, command: ShardCommand) {
        match command {
            ShardCommand::SetLeg(id, leg) => self.set_leg(id, *leg),
            ShardCommand::RemoveLeg(id) => self.remove_leg(id),
            ShardCommand::Route(path, shard) => self.set_route(path, shard),
            ShardCommand::SetStream(key, generation, stream) => self.set_stream(key, generation, *stream),
            ShardCommand::RemoveStream(key) => self.remove_stream(key),
            ShardCommand::Forget(generation) => self.forget(generation),
            ShardCommand::SetReplica(id, replica, source) => self.set_replica(id, *replica, source),
            ShardCommand::RemoveReplica(id) => self.remove_replica(id),
            ShardCommand::Listen(key, shard) => {
                let stream = self.stream_place(key);
                self.streams[stream].listeners.add(shard);
            }
            ShardCommand::SetPace(leg, pace) => self.set_pace(now, leg, pace),
            ShardCommand::Probe(leg, probe) => self.probe(now, leg, probe),
            ShardCommand::Datagram(path, bytes) => self.egress.push_loose(path, &bytes),
            ShardCommand::Rtcp(leg, bytes) => self.send_rtcp(leg, &bytes),
            ShardCommand::Resend(replica, sequences) => self.resend(now, replica, &sequences),
            ShardCommand::Resume(replica, from) => self.go_on(now, replica, from),
            ShardCommand::Release(replica) => self.let_go(replica),
            ShardCommand::Fill(replica, fill) => self.fill(now, replica, &fill),
            ShardCommand::ReportStatistics(leg) => self.report_statistics(now, leg),
        }
    }

    fn set_leg(&mut self, id: LegId, entry: Leg) {
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

    fn remove_leg(&mut self, id: LegId) {
        let Some(place) = self.leg_places.remove(&id) else {
            return;
        };
        self.legs[place].pace = None;
        for (id, _) in std::mem::take(&mut self.legs[place].replicas) {
            self.remove_replica(id);
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

    fn set_route(&mut self, path: Path, shard: Option<usize>) {
        match shard {
            Some(shard) => self.routes.insert(path, Route::Elsewhere(shard)),
            None => self.routes.remove(&path),
        }
    }

    fn set_stream(&mut self, key: StreamKey, generation: Generation, entry: Stream) {
        let leg = &mut self.legs[self.leg_places[&key.leg]];
        let place = match self.stream_places.get(&generation) {
            Some(place) => {
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

    fn remove_stream(&mut self, key: StreamKey) {
        let place = self.stream_place(key);
        let leg = &mut self.legs[self.leg_places[&key.leg]];
        leg.remove_ssrcs_of(place);
        remove_sorted(&mut leg.streams, key.ssrc);
        let stream = self.streams.remove(place);
        self.stream_places.remove(&stream.generation);
    }

    /// The place of a stream of a leg here.
    fn stream_place(&self, key: StreamKey) -> usize {
        let leg = &self.legs[self.leg_places[&key.leg]];
        leg.stream_of(key.ssrc)
            .expect("the control handle knows which streams there are")
    }

    fn forget(&mut self, generation: Generation) {
        for (_, place) in self.queues.forget(generation) {
            self.replicas[place].forget(generation);
        }
    }

    fn set_replica(&mut self, id: ReplicaId, entry: Replica, source: Option<Source>) {
        let place = match self.replica_places.get(&id) {
            Some(place) => {
                let place = *place;
                self.unlist(place);
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
            self.queues.add(generation, id, place);
        }
    }

    fn go_on(&mut self, now: Instant, id: ReplicaId, from: ReplicaSnapshot) {
        let Some(place) = self.replica_places.get(&id) else {
            return;
        };
        let replica = &mut self.replicas[*place];
        if self.legs[replica.leg].entry.protection == Protection::Clear {
            replica.expect(now, from);
        }
    }

    fn let_go(&mut self, id: ReplicaId) {
        let Some(place) = self.replica_places.get(&id) else {
            return;
        };
        let replica = &mut self.replicas[*place];
        let leg = &self.legs[replica.leg];
        let is_clear = leg.entry.protection == Protection::Clear;
        let from = replica.stands().filter(|_| is_clear);
        let stands = Box::new((id, from, leg.transport_sequence));
        // Who does not hear of it does not go on with it.
        if self.reports.send(&self.counters, Report::Released(stands)) && from.is_some() {
            replica.let_go();
        }
    }

    fn remove_replica(&mut self, id: ReplicaId) {
        let Some(place) = self.replica_places.remove(&id) else {
            return;
        };
        self.unlist(place);
        let replica = self.replicas.remove(place);
        let leg = &mut self.legs[replica.leg];
        remove_sorted(&mut leg.replicas, id);
        if let Some(pace) = &mut leg.pace {
            pace.forget(place);
        }
    }

    /// Takes a replica out of every fan-out list.
    fn unlist(&mut self, place: usize) {
        let replica = &self.replicas[place];
        for generation in replica.follows().into_iter().flatten() {
            self.queues.remove(generation, replica.id);
        }
    }
}
