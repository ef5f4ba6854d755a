//! One worker's tables and packet path, without socket, clock or thread.
//!
//! A shard owns legs, and with a leg everything that may exist only once: its SRTP contexts, the
//! windows and caches of the streams it sends, the state of the replicas it receives, its
//! transport-wide counter and its egress run. Shards pass messages through rings: datagrams that
//! arrived at the wrong shard, references to packets for replicas elsewhere, and packets to send
//! again.
//!
//! The folders follow the packet: [`ingress`] classifies and unprotects a datagram and finds its
//! stream, [`fanout`] queues it for the stream's replicas and serves them, audio first, in quanta,
//! [`select`] decides which layers a [`replica`] gets, and [`egress`] rewrites, paces and seals it.
//! Beside them, `commands` acts on commands of the agent and `messages` on messages of other
//! shards. `tables` holds the legs, streams and replicas. `rewrite` has the changes to a packet for
//! one receiver. A leg has its `pace`, and its run among the `runs` of a batch.
//!
//! Driving one: [`take_commands`](Shard::take_commands), [`take_handoffs`](Shard::take_handoffs),
//! [`receive`](Shard::receive) for each datagram, [`work`](Shard::work) until nothing is left,
//! [`flush`](Shard::flush), [`settle`](Shard::settle).

mod commands;
mod egress;
mod fanout;
pub(crate) mod handoff;
mod ingress;
mod leg;
mod messages;
mod pace;
mod packet;
mod prefetching;
mod replica;
mod rewrite;
mod routes;
mod runs;
mod select;
mod statistics;
mod stream;
mod tables;

pub use runs::{Run, Transmit};

use std::sync::Arc;
use std::time::Instant;

use dataplane::{Clock, Counter, Path};
use rtrb::Consumer;

use crate::channel::{CounterPage, Reports, ShardCommand};
use crate::shard::egress::Egress;
use crate::shard::fanout::queues::FanoutQueues;
use crate::shard::handoff::HandoffRing;
use crate::shard::ingress::open_frames::OpenFrames;
use crate::shard::pace::PaceTimers;
use crate::shard::packet::pool::Pool;
use crate::shard::tables::Tables;

/// The number of replicas that one call of [`Shard::work`] serves before it checks for more urgent
/// work.
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
    /// By shard; `None` in this shard's own slot.
    rings: Vec<Option<HandoffRing>>,

    tables: Tables,
    /// By stream, here or elsewhere: the replicas here that follow it.
    queues: FanoutQueues,

    /// Frames of which a part has arrived.
    open_frames: OpenFrames,
    pool: Pool,
    egress: Egress,
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
            tables: Tables::default(),
            queues: FanoutQueues::default(),
            open_frames: OpenFrames::default(),
            pool: Pool::default(),
            egress: Egress::new(),
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
        has_handoffs || self.has_commands()
    }

    /// Whether commands wait.
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Whether a leg has this path, here or at another shard.
    pub(crate) fn has_leg_at(&mut self, path: &Path) -> bool {
        self.tables.routes.find(path).is_some()
    }

    /// Sends everything written since the last time.
    pub fn flush(&mut self, out: &mut impl Transmit) {
        if self.egress.runs.is_empty() {
            return;
        }
        let (reports, counters) = (&mut self.reports, &self.counters);
        let failed = self
            .egress
            .runs
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
        (
            self.tables.legs.len(),
            self.tables.streams.len(),
            self.tables.replicas.len(),
        )
    }

    /// Whether it owns nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0, 0)
    }
}
