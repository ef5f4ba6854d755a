//! One worker's tables and packet path, without socket, clock or thread.
//!
//! A shard owns legs, and with a leg everything that may exist only once: its SRTP contexts, the
//! windows and caches of the streams it sends, the state of the replicas it receives, its
//! transport-wide counter and its egress run. What another shard needs of it goes through a ring:
//! datagrams that arrived at the wrong shard, references to packets for replicas elsewhere, and
//! packets to send again.
//!
//! The folders follow the packet: [`ingress`] classifies and unprotects a datagram and finds its
//! stream, [`fanout`] queues it for the stream's replicas and serves them, audio first, in quanta,
//! [`select`] decides which layers a [`replica`] gets, and [`egress`] rewrites, paces and seals it.
//! Beside them, `tables` applies commands, and `messages` acts on messages of other shards.
//!
//! Driving one: [`take_commands`](Shard::take_commands), [`take_handoffs`](Shard::take_handoffs),
//! [`receive`](Shard::receive) for each datagram, [`work`](Shard::work) until nothing is left,
//! [`flush`](Shard::flush), [`settle`](Shard::settle).

mod egress;
mod fanout;
pub(crate) mod handoff;
mod ingress;
mod leg;
mod messages;
mod packet;
mod replica;
mod routes;
mod select;
mod statistics;
mod stream;
mod tables;

pub use egress::{Run, Transmit};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{Clock, Counter, LegId, ReplicaId};
use rtrb::Consumer;

use crate::channel::{CounterPage, Generation, Reports, ShardCommand};
use crate::hash::Mixed;
use crate::shard::egress::header::Layouts;
use crate::shard::egress::pace::PaceTimers;
use crate::shard::egress::runs::EgressRuns;
use crate::shard::fanout::queues::FanoutQueues;
use crate::shard::handoff::HandoffRing;
use crate::shard::ingress::open_frames::OpenFrames;
use crate::shard::leg::LegState;
use crate::shard::packet::pool::Pool;
use crate::shard::replica::ReplicaState;
use crate::shard::routes::Routes;
use crate::shard::stream::StreamState;
use crate::slab::Slab;

/// How many replicas one call of [`Shard::work`] serves before it looks whether something more
/// urgent came.
pub const QUANTUM: usize = 256;

/// How many shards there can be: one bit each in a stream's listeners.
pub const SHARDS_MAX: usize = 64;

/// One worker's tables and packet path.
pub struct Shard {
    index: usize,
    clock: Clock,
    counters: Arc<CounterPage>,
    commands: Consumer<ShardCommand>,
    reports: Reports,
    /// By shard; `None` in this shard's own place.
    rings: Vec<Option<HandoffRing>>,

    routes: Routes,
    legs: Slab<LegState>,
    leg_places: HashMap<LegId, usize, Mixed>,
    streams: Slab<StreamState>,
    stream_places: HashMap<Generation, usize, Mixed>,
    replicas: Slab<ReplicaState>,
    replica_places: HashMap<ReplicaId, usize, Mixed>,
    /// By stream, here or elsewhere: the replicas here that follow it.
    queues: FanoutQueues,

    /// Frames of which a part has arrived.
    open_frames: OpenFrames,
    pool: Pool,
    egress: EgressRuns,
    layouts: Layouts,
    /// When the pacers of legs are due.
    pace_timers: PaceTimers,
    /// The buffer that RTCP is unprotected in.
    scratch: Vec<u8>,
}

impl Shard {
    pub(crate) fn new(
        index: usize,
        clock: Clock,
        counters: Arc<CounterPage>,
        commands: Consumer<ShardCommand>,
        reports: Reports,
        rings: Vec<Option<HandoffRing>>,
    ) -> Self {
        Shard {
            index,
            clock,
            counters,
            commands,
            reports,
            rings,
            routes: Routes::default(),
            legs: Slab::new(),
            leg_places: HashMap::default(),
            streams: Slab::new(),
            stream_places: HashMap::default(),
            replicas: Slab::new(),
            replica_places: HashMap::default(),
            queues: FanoutQueues::default(),
            open_frames: OpenFrames::default(),
            pool: Pool::default(),
            egress: EgressRuns::new(),
            layouts: Layouts::new(),
            pace_timers: PaceTimers::default(),
            scratch: Vec::new(),
        }
    }

    /// Whether packets still wait for their replicas.
    pub fn has_work(&self) -> bool {
        !self.queues.is_idle()
    }

    /// Whether commands or messages wait: asked between arming the wake-up and going to sleep.
    pub fn has_messages(&self) -> bool {
        let has_handoffs = self.rings.iter().flatten().any(|ring| !ring.from.is_empty());
        has_handoffs || !self.commands.is_empty()
    }

    /// Sends everything written since the last time.
    pub fn flush(&mut self, out: &mut impl Transmit) {
        if self.egress.is_empty() {
            return;
        }
        let (reports, counters) = (&mut self.reports, &self.counters);
        let failed = self
            .egress
            .flush(out, |leg, departures| reports.departed(counters, leg, departures));
        self.counters.add(Counter::SendFailed, failed);
    }

    /// Ends a batch: wakes the shards and the agent if there is something for them.
    pub fn settle(&mut self, now: Instant) {
        self.rings.iter_mut().flatten().for_each(HandoffRing::settle);
        self.reports.settle(now);
    }

    /// When to [`work`](Self::work), [`flush`](Self::flush) and [`settle`](Self::settle) even if
    /// nothing happens.
    pub fn due(&self) -> Option<Instant> {
        self.reports.due().into_iter().chain(self.pace_timers.next()).min()
    }

    /// How many legs, streams and replicas it owns.
    pub fn len(&self) -> (usize, usize, usize) {
        (self.legs.len(), self.streams.len(), self.replicas.len())
    }

    /// Whether it owns nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0, 0)
    }
}
