//! One shard and its control handle, whose packets are dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_udp::Wakeup;
use backend_udp::control::Control;
use backend_udp::shard::{Run, Shard, Transmit};
use dataplane::{Clock, Counter, LegId, ReplicaId, Update};
use wire::{MediaKind, NtpTime};

use crate::entries;
use crate::meter::{Cost, Meter};
use crate::publisher::{Publisher, stream_key};

/// How often packets that wait for the pace of their leg are looked at.
const TICK: Duration = Duration::from_millis(1);

/// The device, and the names of entries that are free.
pub struct Device {
    control: Control,
    shard: Shard,
    now: Instant,
    legs: u32,
    replicas: u32,
}

/// The publishers of a room.
pub struct Room {
    publishers: Vec<Publisher>,
    kinds: &'static [MediaKind],
}

/// A transmitter that drops all packets.
struct Nothing;

impl Transmit for Nothing {
    fn transmit<'a>(&mut self, runs: impl Iterator<Item = Run<'a>>) -> u64 {
        runs.for_each(|run| _ = std::hint::black_box(run));
        0
    }
}

impl Device {
    /// With nothing in its tables.
    pub fn new() -> Self {
        let now = Instant::now();
        let clock = Clock {
            origin: now,
            ntp: NtpTime(3_900_000_000 << 32),
        };
        let (control, mut shards) = Control::new(clock, &[Arc::new(Wakeup::silent())], Arc::new(Wakeup::silent()));
        Device {
            control,
            shard: shards.pop().expect("there is one for each alarm"),
            now,
            legs: 0,
            replicas: 0,
        }
    }

    /// A room of `size`, in which the first `publishers` send `kinds` to all others.
    pub fn room(&mut self, size: u32, publishers: u32, kinds: &'static [MediaKind]) -> Room {
        let legs: Vec<LegId> = (0..size).map(|_| self.next_leg()).collect();
        for leg in &legs {
            self.write(Update::SetLeg(*leg, entries::leg(*leg)));
        }
        let publishing = &legs[..publishers as usize];
        for (from, kind) in publishing
            .iter()
            .flat_map(|from| kinds.iter().map(move |kind| (*from, *kind)))
        {
            let source = stream_key(from, kind);
            self.write(Update::SetStream(source, entries::stream(kind)));
            for to in legs.iter().filter(|to| **to != from) {
                let id = self.next_replica();
                self.write(Update::SetReplica(id, entries::replica(*to, 2 * id.0, source, kind)));
            }
        }
        Room {
            publishers: publishing.iter().copied().map(Publisher::new).collect(),
            kinds,
        }
    }

    pub(crate) fn next_leg(&mut self) -> LegId {
        self.legs += 1;
        LegId(self.legs)
    }

    pub(crate) fn next_replica(&mut self) -> ReplicaId {
        self.replicas += 1;
        ReplicaId(self.replicas)
    }

    /// Paces every leg. Shape: bits per second.
    pub fn pace(&mut self, rate: u64) {
        (1..=self.legs).for_each(|leg| self.write(Update::SetPace(LegId(leg), Some(rate))));
    }

    /// Writes an entry, and has the shard apply it.
    pub fn write(&mut self, update: Update) {
        self.control.write(update).expect("the entries are good");
        self.shard.take_commands(self.now);
    }

    /// The same; its cost is added to that of the control handle and of the shard.
    pub fn write_counted(&mut self, update: Update, meter: &mut Meter, [control, shard]: &mut [Cost; 2]) {
        let written = meter.count(control, || self.control.write(update));
        written.expect("the entries are good");
        meter.count(shard, || self.shard.take_commands(self.now));
    }

    /// How many entries there are.
    pub fn entries(&self) -> u64 {
        let (legs, streams, replicas) = self.shard.len();
        (legs + streams + replicas) as u64
    }

    /// How many packets were sent.
    pub fn forwarded(&self) -> u64 {
        self.control.counters()[Counter::Forwarded]
    }

    /// Plays the next packets of one kind of everybody in a room. Each frame is handled by itself,
    /// as it arrives under little load.
    pub fn play(&mut self, room: &mut Room, kind: MediaKind, meter: &mut Meter, cost: &mut Cost) {
        for publisher in &mut room.publishers {
            let (path, datagrams) = (entries::path(publisher.leg), publisher.next(kind));
            meter.count(cost, || {
                let (shard, now) = (&mut self.shard, self.now);
                datagrams.iter().for_each(|datagram| shard.receive(now, path, datagram));
                self.work();
            });
            self.hear();
        }
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration, meter: &mut Meter, cost: &mut Cost) {
        let until = self.now + time;
        while self.now + TICK <= until && self.shard.due().is_some() {
            self.now += TICK;
            if self.shard.due().is_some_and(|due| due <= self.now) {
                meter.count(cost, || self.work());
                self.hear();
            }
        }
        self.now = until;
    }

    /// Once round a worker's loop, and again as long as anything waits.
    fn work(&mut self) {
        loop {
            self.shard.work(self.now);
            self.shard.flush(&mut Nothing);
            self.shard.settle(self.now);
            if !self.shard.has_work() {
                break;
            }
        }
    }

    /// Reads the shard's events, as the agent does on its own thread.
    fn hear(&mut self) {
        while self.control.poll().is_some() {}
    }
}

impl Default for Device {
    fn default() -> Self {
        Device::new()
    }
}

impl Room {
    /// The kinds of media that each publisher in it sends.
    pub fn kinds(&self) -> &'static [MediaKind] {
        self.kinds
    }
}
