//! One worker's tables and packet path, without socket, clock or thread.
//!
//! A shard owns legs, and with a leg everything that may exist only once: its SRTP contexts, the
//! windows and caches of the streams it sends, the state of the replicas it receives, its
//! transport-wide counter and its egress run. What another shard needs of it goes through a ring:
//! datagrams that arrived at the wrong shard, references to packets for replicas elsewhere, and
//! packets to send again.
//!
//! Reading order, as the packet goes: `ingress` classifies and opens a datagram, `placement` finds
//! its number in its `stream`; `fanout` has it wait for its replicas, to whom `serve` offers it,
//! audio first, in quanta; `replica` decides and numbers, `select` says which layers; `header`
//! writes it into the receiver's `egress` run. `pace` keeps what may not leave yet. `tables`
//! applies commands, `resend` does what the agent asks for.
//!
//! Driving one: [`take_commands`](Shard::take_commands), [`take_handoffs`](Shard::take_handoffs),
//! [`receive`](Shard::receive) for each datagram, [`work`](Shard::work) until nothing is left,
//! [`flush`](Shard::flush), [`settle`](Shard::settle).

mod bits;
mod cache;
mod demux;
mod descriptor;
mod egress;
mod extensions;
mod fanout;
mod filling;
mod frame;
mod frame_numbering;
mod frame_wait;
pub(crate) mod hash;
mod header;
mod ingress;
mod leg;
mod loan;
mod pace;
mod packet;
mod replica;
mod resend;
mod routes;
mod segment;
mod select;
mod serve;
pub(crate) mod slab;
mod stream;
mod tables;
mod window;

pub(crate) mod counters;
pub(crate) mod handoff;
pub(crate) mod report;
pub(crate) mod reports;

pub use egress::{Run, Transmit};

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{Clock, Counter, LegId, ReplicaId, StreamKey};
use rtrb::Consumer;

use crate::control::ShardCommand;
use counters::CounterPage;
use egress::Egress;
use fanout::FanoutQueues;
use frame_wait::OpenFrames;
use handoff::HandoffRing;
use hash::Mixed;
use header::Layouts;
use leg::LegState;
use pace::Wakes;
use packet::Pool;
use replica::ReplicaState;
use reports::Reports;
use routes::{Route, Routes};
use slab::Slab;
use stream::StreamState;

/// How many replicas one call of [`Shard::work`] serves before it looks whether something more
/// urgent came.
pub const QUANTUM: usize = 256;

/// How many shards there can be: one bit each in a stream's listeners.
pub const SHARDS_MAX: usize = 64;

/// How many messages of one other shard are taken at a time.
const HANDOFFS_PER_TURN: usize = 256;

/// One generation of a stream entry. An entry that is removed and added again is another stream: a
/// packet of the old one that is still between shards must not be taken for one of the new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Generation(pub(crate) u32);

/// The stream that a replica follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) key: StreamKey,
    pub(crate) generation: Generation,
    /// The shard that owns it.
    pub(crate) shard: usize,
}

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
    egress: Egress,
    layouts: Layouts,
    /// When to look at what waits for its leg's pace.
    wakes: Wakes,
    /// For RTCP on its way in, and anything on its way out that is not media.
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
            egress: Egress::new(),
            layouts: Layouts::new(),
            wakes: Wakes::default(),
            scratch: Vec::new(),
        }
    }

    /// Takes messages of other shards; returns how many.
    pub fn take_handoffs(&mut self, now: Instant) -> usize {
        let mut taken = 0;
        for other in 0..self.rings.len() {
            for _ in 0..HANDOFFS_PER_TURN {
                let Some(Ok(message)) = self.rings[other].as_mut().map(|ring| ring.from.pop()) else {
                    break;
                };
                self.handle_handoff(now, other, message);
                taken += 1;
            }
        }
        taken
    }

    /// Whether packets still wait for their replicas.
    pub fn has_work(&self) -> bool {
        !self.queues.is_idle()
    }

    /// Whether commands or messages wait: asked between arming the wake-up and going to sleep.
    pub fn has_messages(&self) -> bool {
        let handle_handoff = self.rings.iter().flatten().any(|ring| !ring.from.is_empty());
        handle_handoff || !self.commands.is_empty()
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
        self.reports.due().into_iter().chain(self.wakes.next()).min()
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
