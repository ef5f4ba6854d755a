//! The same shards without threads or sockets, for tests that must repeat.

pub(crate) mod ports;
pub(crate) mod sent;

use std::sync::Arc;
use std::time::Instant;

use dataplane::{
    Capabilities, Clock, Counter, Counters, DataPlane, Egress, Event, Inject, Path, Update, Verdict, WriteError,
};

use self::ports::{InlineSocket, InlineSockets, NoRegistry};
use self::sent::Sent;
use crate::control::Control;
use crate::relays::{BUFFER, RELAYS_MAX, RelayShard, Relays};
use crate::shard::Shard;
use crate::wakeup::Wakeup;

/// A device whose shards run in the caller's thread, one after the other, each until it has no work
/// left.
///
/// Everything happens at once: an entry is applied when [`write`](DataPlane::write) returns, and a
/// packet's replicas are sent when [`packet`](Self::packet) returns, unless their leg has a pace.
/// Bytes are as on the wire: received packets are decrypted, sent packets are encrypted.
pub struct InlinePlane {
    control: Control,
    shards: Vec<Shard>,
    sent: Sent,
    relays: Relays<InlineSockets>,
    relay_shards: Vec<RelayShard<InlineSocket>>,
}

impl InlinePlane {
    /// A device of `shards` shards.
    ///
    /// Panics when there are none, or more than [`SHARDS_MAX`](crate::shard::SHARDS_MAX).
    pub fn new(shards: usize, clock: Clock) -> Self {
        let wakeups: Vec<Arc<Wakeup>> = (0..shards).map(|_| Arc::new(Wakeup::silent())).collect();
        let agent = Arc::new(Wakeup::silent());
        let (control, shards) = Control::new(clock, &wakeups, agent.clone());
        let sent = Sent::default();
        let (relays, relay_shards) = Relays::new(InlineSockets::new(sent.clone()), &wakeups, &agent);
        InlinePlane {
            control,
            shards,
            sent,
            relays,
            relay_shards,
        }
    }

    /// Takes one datagram that arrives at shard `at` modulo the number of shards; returns its
    /// verdict.
    pub fn packet(&mut self, now: Instant, at: usize, path: Path, datagram: &[u8]) -> Verdict {
        let before = self.counters();
        let relay_shard = self
            .relay_shards
            .iter_mut()
            .find_map(|relay_shard| Some((relay_shard.slot_of(path.local)?, relay_shard)));
        match relay_shard {
            Some((slot, relay_shard)) => {
                let mut buffer = [0; BUFFER];
                let kept = datagram.len().min(BUFFER);
                buffer[..kept].copy_from_slice(&datagram[..kept]);
                relay_shard.packet(now, slot, path.remote, &mut buffer, datagram.len());
                self.settle(now);
                let after = self.counters();
                return match verdict(&before, &after) {
                    // Counters of replicas are not a relay's.
                    Verdict::Forward if after[Counter::Relayed] == before[Counter::Relayed] => {
                        Verdict::Drop(Counter::NotReady)
                    }
                    verdict => verdict,
                };
            }
            None => {
                let shard = at % self.shards.len();
                self.shards[shard].receive(now, path, datagram);
            }
        }
        self.settle(now);
        verdict(&before, &self.counters())
    }

    /// Advances time: packets that wait for the pace of a leg are sent when they are due, or later
    /// if this is called later.
    pub fn advance(&mut self, now: Instant) {
        self.settle(now);
    }

    /// When [`advance`](Self::advance) is to be called next, if anything is to happen by itself.
    pub fn due(&self) -> Option<Instant> {
        self.shards.iter().filter_map(Shard::due).min()
    }

    /// Everything that was sent since the last call, in order.
    pub fn take_sent(&mut self) -> Vec<Egress> {
        self.sent.with(std::mem::take)
    }

    /// How many legs, streams and replicas all shards own together.
    pub fn len(&self) -> (usize, usize, usize) {
        let add = |sum: (usize, usize, usize), shard: &Shard| {
            let (legs, streams, replicas) = shard.len();
            (sum.0 + legs, sum.1 + streams, sum.2 + replicas)
        };
        self.shards.iter().fold((0, 0, 0), add)
    }

    /// Whether every table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == (0, 0, 0) && self.relays.len() == 0
    }

    /// Runs the shards until none has any work left.
    fn settle(&mut self, now: Instant) {
        for relay_shard in &mut self.relay_shards {
            while relay_shard.take_commands(&mut NoRegistry) > 0 {}
            relay_shard.settle(now);
        }
        let mut busy = true;
        while busy {
            busy = false;
            for shard in &mut self.shards {
                busy |= shard.take_commands(now) + shard.take_handoffs(now) > 0 || shard.has_work();
                shard.work(now);
                shard.flush(&mut self.sent);
                shard.settle(now);
            }
        }
    }
}

/// The verdict on the one packet between two readings of the counters.
fn verdict(before: &Counters, after: &Counters) -> Verdict {
    use Counter::*;
    let counted = |counter: &Counter| after[*counter] > before[*counter];
    let drops = [
        NotMedia,
        Oversized,
        UnknownSource,
        ForeignSource,
        NoDestination,
        Malformed,
        NoKeys,
        Unauthenticated,
        Duplicate,
        TooLate,
        UnknownStream,
        UnknownFormat,
        PaddingOnly,
        CopiedByOffload,
        NoReplica,
        NotSelected,
    ];
    // A relay passes on what it punts a copy of.
    let punts = [PuntedStun, PuntedDtls, PuntedRtcp, PuntedStream];
    match drops.into_iter().find(counted) {
        Some(reason) => Verdict::Drop(reason),
        None if punts.iter().any(counted) && !counted(&Relayed) => Verdict::Punt,
        None => Verdict::Forward,
    }
}

impl DataPlane for InlinePlane {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            relays_max: RELAYS_MAX,
            ..self.control.capabilities()
        }
    }

    fn write(&mut self, now: Instant, update: Update) -> Result<(), WriteError> {
        match update {
            Update::SetRelay(at, relay) => self.relays.set(at, *relay)?,
            Update::RemoveRelay(at) => self.relays.remove(at)?,
            update => self.control.write(update)?,
        }
        self.settle(now);
        Ok(())
    }

    fn inject(&mut self, now: Instant, what: Inject<'_>) {
        match what {
            Inject::Datagram { path, bytes } if self.relays.send(path, bytes) => {}
            Inject::Receive { at, path, bytes } if self.relays.receive(at, path, bytes) => {}
            Inject::ReportRelay { at } => self.relays.report(at),
            what => self.control.inject(what),
        }
        self.settle(now);
    }

    fn poll(&mut self) -> Option<Event> {
        self.relays.next_event().or_else(|| self.control.poll())
    }

    fn counters(&mut self) -> Counters {
        let mut counters = self.control.counters();
        counters.add(&self.relays.counters());
        counters
    }
}
