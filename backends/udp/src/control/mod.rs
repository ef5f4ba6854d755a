//! The agent's handle: validates entries, gives every leg to a shard, and collects what the shards
//! report.
//!
//! `index` lists all entries and refuses invalid ones, and `inject` makes commands of injections. A
//! control handle does not depend on threads: the same one drives shards with threads and shards
//! without.

mod affinity;
mod index;
mod inject;
mod mesh;
mod shared_paths;

use std::sync::Arc;

use dataplane::{
    Capabilities, Clock, Counters, Event, Leg, LegId, Replica, ReplicaId, Stream, StreamKey, Update, WriteError,
};

use crate::channel::{ShardCommand, Source, WorkerLink};
use crate::shard::{SHARDS_MAX, Shard};
use crate::wakeup::Wakeup;
use affinity::PathAffinity;
use index::{LEGS_MAX, REPLICAS_MAX, STREAMS_MAX, TableIndex};
use mesh::shard_parts;

/// Drives any number of shards.
pub struct Control {
    index: TableIndex,
    shards: Vec<WorkerLink<ShardCommand>>,
    /// How many legs each has.
    legs: Vec<usize>,
    /// The shard at which each path's datagrams arrive.
    affinity: PathAffinity,
    /// The shard that is asked first for the next event.
    turn: usize,
    /// Wakes the agent; armed when there is nothing to tell.
    agent: Arc<Wakeup>,
    /// Counters of what was lost before it reached a shard.
    counters: Counters,
}

impl Control {
    /// A handle and as many shards as there are wake-ups, each of which wakes the thread of its
    /// shard. `agent` wakes the handle's owner.
    ///
    /// Panics when there is no wake-up, or more than [`SHARDS_MAX`].
    pub fn new(clock: Clock, wakeups: &[Arc<Wakeup>], agent: Arc<Wakeup>) -> (Self, Vec<Shard>) {
        assert!((1..=SHARDS_MAX).contains(&wakeups.len()), "one to {SHARDS_MAX} shards");
        let (links, shards) = shard_parts(clock, wakeups, &agent);
        let control = Control {
            index: TableIndex::default(),
            legs: vec![0; links.len()],
            shards: links,
            affinity: PathAffinity::default(),
            turn: 0,
            agent,
            counters: Counters::default(),
        };
        (control, shards)
    }

    /// The capabilities of any number of shards.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            legs_max: LEGS_MAX,
            streams_max: STREAMS_MAX,
            replicas_max: REPLICAS_MAX,
            relays_max: 0,
            forwards_rtcp: false,
            ..Capabilities::ALL
        }
    }

    /// How many legs each shard owns.
    pub(crate) fn legs(&self) -> &[usize] {
        &self.legs
    }

    /// The source ports of legs, each with the shard that owns the leg.
    pub(crate) fn port_owners(&self) -> impl Iterator<Item = (u16, usize)> {
        self.index.port_owners()
    }

    /// Validates one entry and has the shards apply it. Shards that others depend on get their
    /// command first.
    pub fn write(&mut self, update: Update) -> Result<(), WriteError> {
        match update {
            Update::SetLeg(id, leg) => self.set_leg(id, leg),
            Update::RemoveLeg(id) => self.remove_leg(id),
            Update::SetPace(id, pace) => {
                let owner = self.index.owner_of_leg(id).ok_or(WriteError::UnknownLeg)?;
                self.shards[owner].post(ShardCommand::SetPace(id, pace));
                Ok(())
            }
            Update::SetStream(key, stream) => self.set_stream(key, stream),
            Update::RemoveStream(key) => self.remove_stream(key),
            Update::SetCopied(key, is_copied) => {
                let owner = self.index.owner_of_stream(key).ok_or(WriteError::UnknownStream)?;
                self.shards[owner].send(ShardCommand::SetCopied(key, is_copied));
                Ok(())
            }
            Update::SetReplica(id, replica) => self.set_replica(id, replica),
            Update::RemoveReplica(id) => {
                let owner = self.index.remove_replica(id)?;
                self.shards[owner].send(ShardCommand::RemoveReplica(id));
                Ok(())
            }
            // The agent answers RTCP by itself.
            Update::SetFeedback(..) => Err(WriteError::Unsupported),
            // The plane has them taken elsewhere.
            Update::SetRelay(..) | Update::RemoveRelay(_) => Err(WriteError::Unsupported),
        }
    }

    fn set_leg(&mut self, id: LegId, leg: Leg) -> Result<(), WriteError> {
        let shards = self.shards.len();
        let affinity = &self.affinity;
        let affine = |leg: &Leg| leg.paths.iter().find_map(|path| affinity.of(path));
        let is_new = self.index.owner_of_leg(id).is_none();
        let change = self
            .index
            .set_leg(id, &leg, || affine(&leg).unwrap_or(id.0 as usize % shards))?;
        self.legs[change.owner] += usize::from(is_new);
        for path in change.removed {
            self.others(change.owner)
                .for_each(|shard| shard.send(ShardCommand::Route(path, None)));
        }
        self.shards[change.owner].send(ShardCommand::SetLeg(id, Box::new(leg)));
        for path in change.added {
            let to = Some(change.owner);
            self.others(change.owner)
                .for_each(|shard| shard.send(ShardCommand::Route(path, to)));
        }
        Ok(())
    }

    fn remove_leg(&mut self, id: LegId) -> Result<(), WriteError> {
        let leg = self.index.remove_leg(id)?;
        self.legs[leg.owner] -= 1;
        for path in leg.paths {
            self.others(leg.owner)
                .for_each(|shard| shard.send(ShardCommand::Route(path, None)));
        }
        for generation in leg.streams {
            self.shards
                .iter_mut()
                .for_each(|shard| shard.send(ShardCommand::Forget(generation)));
        }
        self.shards[leg.owner].send(ShardCommand::RemoveLeg(id));
        Ok(())
    }

    fn set_stream(&mut self, key: StreamKey, stream: Stream) -> Result<(), WriteError> {
        let source = self.index.set_stream(key, &stream)?;
        self.shards[source.shard].send(ShardCommand::SetStream(key, source.generation, Box::new(stream)));
        Ok(())
    }

    fn remove_stream(&mut self, key: StreamKey) -> Result<(), WriteError> {
        let Source { generation, shard, .. } = self.index.remove_stream(key)?;
        self.shards
            .iter_mut()
            .for_each(|shard| shard.send(ShardCommand::Forget(generation)));
        self.shards[shard].send(ShardCommand::RemoveStream(key));
        Ok(())
    }

    fn set_replica(&mut self, id: ReplicaId, replica: Replica) -> Result<(), WriteError> {
        let (owner, source) = self.index.set_replica(id, &replica)?;
        self.shards[owner].send(ShardCommand::SetReplica(id, Box::new(replica), source));
        if let Some(source) = source.filter(|source| source.shard != owner) {
            self.shards[source.shard].send(ShardCommand::Listen(source.key, owner));
        }
        Ok(())
    }

    fn others(&mut self, owner: usize) -> impl Iterator<Item = &mut WorkerLink<ShardCommand>> {
        let shards = self.shards.iter_mut().enumerate();
        shards.filter(move |(index, _)| *index != owner).map(|(_, shard)| shard)
    }

    /// Whether the shards have taken everything written and injected so far.
    pub fn is_applied(&self) -> bool {
        self.shards.iter().all(WorkerLink::wake_unless_drained)
    }

    /// The next event, shard by shard in turn. After `None` the agent is woken when there is
    /// another, and workers have been woken for commands that were posted without a wake-up.
    pub fn poll(&mut self) -> Option<Event> {
        self.next_event().or_else(|| {
            self.shards.iter_mut().for_each(WorkerLink::wake_for_posted);
            self.agent.arm();
            let event = self.next_event();
            if event.is_some() {
                self.agent.disarm();
            }
            event
        })
    }

    fn next_event(&mut self) -> Option<Event> {
        for _ in 0..self.shards.len() {
            let shard = self.turn;
            self.turn = (shard + 1) % self.shards.len();
            if let Some(event) = self.shards[shard].next_event() {
                // The owner of a leg is chosen once.
                if let Event::Punt { path, leg: None, .. } = &event {
                    self.affinity.remember(*path, shard);
                }
                return Some(event);
            }
        }
        None
    }

    /// The sum of all shards' counters.
    pub fn counters(&self) -> Counters {
        let mut sum = self.counters.clone();
        self.shards.iter().for_each(|shard| sum.add(&shard.counters()));
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    use dataplane::{Inject, Path, Protection};
    use wire::rtcp::RtcpWriter;
    use wire::{ExtensionMap, NtpTime, SequenceNumber, Ssrc};

    use super::*;

    const LEG: LegId = LegId(1);

    fn control(woken: &Arc<AtomicUsize>) -> (Control, Arc<Wakeup>, Shard) {
        let clock = Clock {
            origin: Instant::now(),
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let woken = woken.clone();
        let wakeup = Arc::new(Wakeup::new(move || {
            woken.fetch_add(1, Ordering::Relaxed);
        }));
        let (mut control, mut shards) = Control::new(clock, std::slice::from_ref(&wakeup), Arc::new(Wakeup::silent()));
        let leg = Leg {
            paths: vec![Path {
                local: "192.0.2.1:7882".parse().unwrap(),
                remote: "192.0.2.2:5000".parse().unwrap(),
            }],
            shared: None,
            protection: Protection::Clear,
            extensions_in: ExtensionMap::default(),
            extensions_out: ExtensionMap::default(),
        };
        control.write(Update::SetLeg(LEG, leg)).unwrap();
        let mut shard = shards.remove(0);
        shard.take_commands(Instant::now());
        (control, wakeup, shard)
    }

    /// How often a sleeping worker is woken by this.
    fn wakes(what: impl FnOnce(&mut Control)) -> usize {
        let woken = Arc::default();
        let (mut control, wakeup, _shard) = control(&woken);
        wakeup.arm();
        what(&mut control);
        woken.load(Ordering::Relaxed)
    }

    fn rtcp(write: impl FnOnce(&mut RtcpWriter<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut RtcpWriter::receiver_report(&mut bytes, Ssrc(1), "weir", &[]));
        bytes
    }

    #[test]
    fn commands_that_may_wait_wake_no_worker() {
        assert_eq!(
            wakes(|control| control.write(Update::SetPace(LEG, Some(1))).unwrap()),
            0
        );
        assert_eq!(wakes(|control| control.inject(Inject::Report { leg: LEG })), 0);
        let report = rtcp(|_| {});
        let inject = |control: &mut Control, bytes: &[u8]| control.inject(Inject::Rtcp { leg: LEG, bytes });
        assert_eq!(wakes(|control| inject(control, &report)), 0);
        let asking = rtcp(|writer| {
            writer.nack(Ssrc(2), [SequenceNumber(7)]);
        });
        assert_eq!(wakes(|control| inject(control, &asking)), 1, "somebody misses a packet");
        let blind = rtcp(|writer| {
            writer.pli(Ssrc(2));
        });
        assert_eq!(wakes(|control| inject(control, &blind)), 1, "somebody sees nothing");
    }

    #[test]
    fn posted_commands_are_taken_when_the_agent_polls_or_waits() {
        let pace = |control: &mut Control| control.write(Update::SetPace(LEG, Some(1))).unwrap();
        let looks = |control: &mut Control| {
            pace(control);
            for _ in 0..3 {
                assert!(control.poll().is_none());
            }
        };
        assert_eq!(wakes(looks), 1, "once");
        let waits = |control: &mut Control| {
            pace(control);
            assert!(!control.is_applied());
        };
        assert_eq!(wakes(waits), 1);

        let woken = Arc::default();
        let (mut control, wakeup, mut shard) = control(&woken);
        pace(&mut control);
        assert_eq!(shard.take_commands(Instant::now()), 1, "it woke by itself");
        wakeup.arm();
        assert!(control.poll().is_none());
        assert!(control.is_applied());
        assert_eq!(woken.load(Ordering::Relaxed), 0);
    }
}
