//! The agent's handle: validates entries, gives every leg to a shard, and collects what the shards
//! report.
//!
//! `book` knows what is in the tables and refuses what may not be; `order` is what goes to the
//! shards; `inbox` makes events of their notes. A control handle knows nothing of threads: the same
//! one drives shards with threads and shards without.

mod book;
mod homes;
mod inbox;
mod link;
mod order;

pub(crate) use link::{WorkerEnds, WorkerLink};
pub(crate) use order::{Fill, Order};

use std::sync::Arc;

use dataplane::{
    Capabilities, Clock, Counter, Counters, Event, Inject, Leg, LegId, Replica, ReplicaId, Stream, StreamKey, Update,
    WriteError,
};

use pacing::Probe;

use crate::shard::{SHARDS_MAX, Shard, Source};
use crate::wakeup::Wakeup;
use book::{Book, LEGS_MAX, REPLICAS_MAX, STREAMS_MAX};
use homes::Homes;
use link::shard_parts;

/// Drives any number of shards.
pub struct Control {
    book: Book,
    shards: Vec<WorkerLink<Order>>,
    /// How many legs each has.
    legs: Vec<usize>,
    /// Which shard hears from which address.
    homes: Homes,
    /// Where to look for the next event.
    turn: usize,
    /// Wakes the agent; armed when there is nothing to tell.
    agent: Arc<Wakeup>,
    /// What was lost before it reached a shard.
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
            book: Book::default(),
            legs: vec![0; links.len()],
            shards: links,
            homes: Homes::default(),
            turn: 0,
            agent,
            counters: Counters::default(),
        };
        (control, shards)
    }

    /// What any number of shards can do.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            legs_max: LEGS_MAX,
            streams_max: STREAMS_MAX,
            replicas_max: REPLICAS_MAX,
            relays_max: 0,
            ..Capabilities::ALL
        }
    }

    /// How many legs each shard owns.
    pub(crate) fn legs(&self) -> &[usize] {
        &self.legs
    }

    /// The source ports of legs, each with the shard that owns the leg.
    pub(crate) fn port_owners(&self) -> impl Iterator<Item = (u16, usize)> {
        self.book.port_owners()
    }

    /// Validates one entry and orders the shards to apply it. Shards that others depend on get
    /// their order first.
    pub fn write(&mut self, update: Update) -> Result<(), WriteError> {
        match update {
            Update::SetLeg(id, leg) => self.set_leg(id, leg),
            Update::RemoveLeg(id) => self.remove_leg(id),
            Update::SetPace(id, pace) => {
                let owner = self.book.owner_of_leg(id).ok_or(WriteError::UnknownLeg)?;
                self.shards[owner].leave(Order::SetPace(id, pace));
                Ok(())
            }
            Update::SetStream(key, stream) => self.set_stream(key, stream),
            Update::RemoveStream(key) => self.remove_stream(key),
            Update::SetReplica(id, replica) => self.set_replica(id, replica),
            Update::RemoveReplica(id) => {
                let owner = self.book.remove_replica(id)?;
                self.shards[owner].order(Order::RemoveReplica(id));
                Ok(())
            }
            // The plane has them taken elsewhere.
            Update::SetRelay(..) | Update::RemoveRelay(_) => Err(WriteError::Unsupported),
        }
    }

    fn set_leg(&mut self, id: LegId, leg: Leg) -> Result<(), WriteError> {
        let shards = self.shards.len();
        let homes = &self.homes;
        let at_home = |leg: &Leg| leg.paths.iter().find_map(|path| homes.of(path));
        let is_new = self.book.owner_of_leg(id).is_none();
        let change = self
            .book
            .set_leg(id, &leg, || at_home(&leg).unwrap_or(id.0 as usize % shards))?;
        self.legs[change.owner] += usize::from(is_new);
        for path in change.removed {
            self.others(change.owner)
                .for_each(|shard| shard.order(Order::Route(path, None)));
        }
        self.shards[change.owner].order(Order::SetLeg(id, Box::new(leg)));
        for path in change.added {
            let to = Some(change.owner);
            self.others(change.owner)
                .for_each(|shard| shard.order(Order::Route(path, to)));
        }
        Ok(())
    }

    fn remove_leg(&mut self, id: LegId) -> Result<(), WriteError> {
        let leg = self.book.remove_leg(id)?;
        self.legs[leg.owner] -= 1;
        for path in leg.paths {
            self.others(leg.owner)
                .for_each(|shard| shard.order(Order::Route(path, None)));
        }
        for life in leg.streams {
            self.shards
                .iter_mut()
                .for_each(|shard| shard.order(Order::Forget(life)));
        }
        self.shards[leg.owner].order(Order::RemoveLeg(id));
        Ok(())
    }

    fn set_stream(&mut self, key: StreamKey, stream: Stream) -> Result<(), WriteError> {
        let source = self.book.set_stream(key, &stream)?;
        self.shards[source.shard].order(Order::SetStream(key, source.life, Box::new(stream)));
        Ok(())
    }

    fn remove_stream(&mut self, key: StreamKey) -> Result<(), WriteError> {
        let Source { life, shard, .. } = self.book.remove_stream(key)?;
        self.shards
            .iter_mut()
            .for_each(|shard| shard.order(Order::Forget(life)));
        self.shards[shard].order(Order::RemoveStream(key));
        Ok(())
    }

    fn set_replica(&mut self, id: ReplicaId, replica: Replica) -> Result<(), WriteError> {
        let (owner, source) = self.book.set_replica(id, &replica)?;
        self.shards[owner].order(Order::SetReplica(id, Box::new(replica), source));
        if let Some(source) = source.filter(|source| source.shard != owner) {
            self.shards[source.shard].order(Order::Listen(source.key, owner));
        }
        Ok(())
    }

    fn others(&mut self, owner: usize) -> impl Iterator<Item = &mut WorkerLink<Order>> {
        let shards = self.shards.iter_mut().enumerate();
        shards.filter(move |(index, _)| *index != owner).map(|(_, shard)| shard)
    }

    /// Whether the shards have taken everything written and injected so far.
    pub fn is_applied(&self) -> bool {
        self.shards.iter().all(WorkerLink::hurry)
    }

    /// Hands on what the agent wants done; what finds no room is counted and gone.
    pub fn inject(&mut self, what: Inject<'_>) {
        let (shard, order) = match what {
            Inject::Datagram { path, bytes } => (
                self.book.owner_of_path(&path).unwrap_or(0),
                Order::Datagram(path, bytes.into()),
            ),
            Inject::Rtcp { leg, bytes } => match self.book.owner_of_leg(leg) {
                Some(owner) => (owner, Order::Rtcp(leg, bytes.into())),
                None => return self.counters.count(Counter::NotReady),
            },
            Inject::Resend { replica, sequences } => match self.book.owner_of_replica(replica) {
                Some(owner) => (owner, Order::Resend(replica, sequences.into())),
                None => {
                    self.counters[Counter::NotInCache] += sequences.len() as u64;
                    return;
                }
            },
            Inject::Probe {
                bytes: 0, packets: 0, ..
            } => return,
            Inject::Probe {
                leg,
                probe,
                rate,
                bytes,
                packets,
            } => match self.book.owner_of_leg(leg) {
                Some(owner) => {
                    let id = probe;
                    let probe = Probe {
                        id,
                        rate,
                        bytes,
                        packets,
                    };
                    (owner, Order::Probe(leg, probe))
                }
                None => return self.counters.count(Counter::NotReady),
            },
            Inject::Report { leg } => match self.book.owner_of_leg(leg) {
                Some(owner) => (owner, Order::Report(leg)),
                None => return,
            },
            Inject::Fill {
                replica,
                payload_type,
                clock_rate,
                payload,
            } => match self.book.owner_of_replica(replica) {
                Some(owner) => {
                    let fill = Fill {
                        payload_type,
                        clock_rate,
                        payload: payload.into(),
                    };
                    (owner, Order::Fill(replica, Box::new(fill)))
                }
                None => return,
            },
            // Without these two numbers would come twice: they wait for room.
            Inject::Resume { replica, from } => return self.order_owner(replica, Order::Resume(replica, from)),
            Inject::Release { replica } => return self.order_owner(replica, Order::Release(replica)),
            Inject::ReportRelay { .. } => return,
        };
        let shard = &mut self.shards[shard];
        let placed = match order.may_wait() {
            true => shard.try_leave(order),
            false => shard.try_order(order),
        };
        if !placed {
            self.counters.count(Counter::WorkerQueueFull);
        }
    }

    fn order_owner(&mut self, replica: ReplicaId, order: Order) {
        if let Some(owner) = self.book.owner_of_replica(replica) {
            self.shards[owner].order(order);
        }
    }

    /// The next event, shard by shard in turn. After `None` the agent is woken when there is
    /// another, and workers have been woken for what was left to them before.
    pub fn poll(&mut self) -> Option<Event> {
        self.next_event().or_else(|| {
            self.shards.iter_mut().for_each(WorkerLink::remind);
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
                // Once it has a leg it is where it belongs.
                if let Event::Punt { path, leg: None, .. } = &event {
                    self.homes.remember(*path, shard);
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

    use dataplane::{Path, Protection};
    use wire::rtcp::RtcpWriter;
    use wire::{ExtensionMap, NtpTime, SequenceNumber, Ssrc};

    use super::*;

    const LEG: LegId = LegId(1);

    fn control(rung: &Arc<AtomicUsize>) -> (Control, Arc<Wakeup>, Shard) {
        let clock = Clock {
            origin: Instant::now(),
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let rung = rung.clone();
        let wakeup = Arc::new(Wakeup::new(move || {
            rung.fetch_add(1, Ordering::Relaxed);
        }));
        let (mut control, mut shards) = Control::new(clock, std::slice::from_ref(&wakeup), Arc::new(Wakeup::silent()));
        let leg = Leg {
            paths: vec![Path {
                local: "192.0.2.1:7882".parse().unwrap(),
                remote: "192.0.2.2:5000".parse().unwrap(),
            }],
            protection: Protection::Clear,
            extensions_in: ExtensionMap::default(),
            extensions_out: ExtensionMap::default(),
        };
        control.write(Update::SetLeg(LEG, leg)).unwrap();
        let mut shard = shards.remove(0);
        shard.take_orders(Instant::now());
        (control, wakeup, shard)
    }

    /// How often a sleeping worker is woken by this.
    fn rings(what: impl FnOnce(&mut Control)) -> usize {
        let rung = Arc::default();
        let (mut control, wakeup, _shard) = control(&rung);
        wakeup.arm();
        what(&mut control);
        rung.load(Ordering::Relaxed)
    }

    fn rtcp(write: impl FnOnce(&mut RtcpWriter<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut RtcpWriter::receiver_report(&mut bytes, Ssrc(1), "weir", &[]));
        bytes
    }

    #[test]
    fn what_may_wait_for_the_next_packet_wakes_nobody() {
        assert_eq!(
            rings(|control| control.write(Update::SetPace(LEG, Some(1))).unwrap()),
            0
        );
        assert_eq!(rings(|control| control.inject(Inject::Report { leg: LEG })), 0);
        let report = rtcp(|_| {});
        let inject = |control: &mut Control, bytes: &[u8]| control.inject(Inject::Rtcp { leg: LEG, bytes });
        assert_eq!(rings(|control| inject(control, &report)), 0);
        let asking = rtcp(|writer| {
            writer.nack(Ssrc(2), [SequenceNumber(7)]);
        });
        assert_eq!(rings(|control| inject(control, &asking)), 1, "somebody misses a packet");
        let blind = rtcp(|writer| {
            writer.pli(Ssrc(2));
        });
        assert_eq!(rings(|control| inject(control, &blind)), 1, "somebody sees nothing");
    }

    #[test]
    fn what_waited_is_taken_when_the_agent_looks_again_or_somebody_waits_for_it() {
        let pace = |control: &mut Control| control.write(Update::SetPace(LEG, Some(1))).unwrap();
        let looks = |control: &mut Control| {
            pace(control);
            for _ in 0..3 {
                assert!(control.poll().is_none());
            }
        };
        assert_eq!(rings(looks), 1, "once");
        let waits = |control: &mut Control| {
            pace(control);
            assert!(!control.is_applied());
        };
        assert_eq!(rings(waits), 1);

        let rung = Arc::default();
        let (mut control, wakeup, mut shard) = control(&rung);
        pace(&mut control);
        assert_eq!(shard.take_orders(Instant::now()), 1, "it woke by itself");
        wakeup.arm();
        assert!(control.poll().is_none());
        assert!(control.is_applied());
        assert_eq!(rung.load(Ordering::Relaxed), 0);
    }
}
