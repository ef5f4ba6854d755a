//! All relays of one worker.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use dataplane::{Accept, Counter, Path, RelayTraffic};
use rtrb::Consumer;

use super::port::{Destination, LockedPort, PacketContext, Port, SourceFilter, Unprotect, lock};
use super::{BUFFER, Immediate, RelaySocket};
use crate::channel::CounterPage;
use crate::channel::Report;
use crate::channel::Reports;
use crate::channel::WorkerEnds;
use crate::slab::Slab;

/// How many commands are taken before packets are processed.
const COMMANDS_PER_TURN: usize = 256;

/// A command of the control handle to a relay shard. Entries are validated.
pub(crate) enum RelayShardCommand<D> {
    /// Adds a relay, or changes its value.
    Set(SocketAddr, Box<RelayEntry<D>>),
    /// The port that a relay's hops are sent from was opened or closed.
    Socket {
        relay: SocketAddr,
        local: SocketAddr,
        socket: Option<D>,
    },
    /// Removes a relay, after a last report.
    Remove(SocketAddr),
    /// Reports a relay's traffic.
    Report(SocketAddr),
    /// Takes in a datagram that arrived before.
    Receive {
        at: Instant,
        path: Path,
        datagram: Box<[u8]>,
    },
}

/// The value of a relay.
pub(crate) struct RelayEntry<D> {
    /// The port itself, when it is new.
    pub(super) socket: Option<D>,
    pub(super) accept: Accept,
    pub(super) terminated: bool,
    /// `None` for no change.
    pub(super) ingress_protection: Option<Unprotect>,
    pub(super) rtp: Option<Destination<D>>,
    pub(super) rtcp: Option<Destination<D>>,
}

/// Registers the sockets that a relay shard receives from.
pub(crate) trait SocketRegistry<D> {
    /// Registers `entry.socket`: its datagrams are passed to the relay shard with this slot.
    fn register(&mut self, slot: usize, entry: &RelaySlot<D>);

    /// Unregisters a socket.
    fn unregister(&mut self, entry: &RelaySlot<D>);
}

/// One relay of a relay shard.
pub(crate) struct RelaySlot<D> {
    pub(super) at: SocketAddr,
    pub(super) socket: D,
    pub(super) port: LockedPort<D>,
    /// The socket's overflows that are counted already.
    overflows: u64,
}

/// All relays of one worker: commands and datagrams in, datagrams out through sockets.
pub(crate) struct RelayShard<D> {
    commands: Consumer<RelayShardCommand<D>>,
    relays: ShardRelays<D>,
}

/// The relays themselves, apart from the commands that change them.
struct ShardRelays<D> {
    entries: Slab<RelaySlot<D>>,
    addresses: HashMap<SocketAddr, usize>,
    reports: Reports,
    counters: Arc<CounterPage>,
}

impl<D: RelaySocket> RelayShard<D> {
    pub(super) fn new(ends: WorkerEnds<RelayShardCommand<D>>) -> Self {
        RelayShard {
            commands: ends.commands,
            relays: ShardRelays {
                entries: Slab::new(),
                addresses: HashMap::new(),
                reports: ends.reports,
                counters: ends.counters,
            },
        }
    }

    /// The slot of the relay at this address, if it belongs to this relay shard.
    pub(crate) fn slot_of(&self, at: SocketAddr) -> Option<usize> {
        self.relays.slot_of(at)
    }

    /// The socket that receives for this slot.
    pub(super) fn socket(&self, slot: usize) -> &D {
        &self.relays.entries[slot].socket
    }

    /// Takes a datagram that has arrived at the relay at `slot`: the first `len` bytes of
    /// `buffer`, which is [`BUFFER`](super::BUFFER) bytes long. If the datagram is longer than the
    /// buffer, `len` is its true length.
    pub(crate) fn packet(&mut self, now: Instant, slot: usize, from: SocketAddr, buffer: &mut [u8], len: usize) {
        self.relays.packet(now, slot, from, buffer, len);
    }

    /// Applies commands of the control handle; returns how many.
    ///
    /// They leave the ring after they were applied. The control handle takes an empty ring for
    /// applied entries, and other workers forward for these relays too.
    pub(crate) fn take_commands(&mut self, registry: &mut impl SocketRegistry<D>) -> usize {
        let count = self.commands.slots().min(COMMANDS_PER_TURN);
        let commands = self.commands.read_chunk(count).expect("so many are there");
        for command in commands {
            self.relays.apply(command, registry);
        }
        count
    }

    /// Whether commands wait: asked between arming the wake-up and going to sleep.
    pub(super) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Ends a batch: wakes the agent if there is something for it.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.relays.reports.settle(now);
    }

    /// When to [`settle`](Self::settle) even if nothing happens.
    pub(super) fn due(&self) -> Option<Instant> {
        self.relays.reports.due()
    }
}

impl<D: RelaySocket> ShardRelays<D> {
    fn slot_of(&self, at: SocketAddr) -> Option<usize> {
        self.addresses.get(&at).copied()
    }

    fn apply(&mut self, command: RelayShardCommand<D>, registry: &mut impl SocketRegistry<D>) {
        match command {
            RelayShardCommand::Set(at, entry) => self.set(at, *entry, registry),
            RelayShardCommand::Socket { relay, local, socket } => self.socket_changed(relay, local, socket),
            RelayShardCommand::Remove(at) => self.remove(at, registry),
            RelayShardCommand::Report(at) => self.report(at),
            RelayShardCommand::Receive { at, path, datagram } => self.receive(at, path, &datagram),
        }
    }

    fn packet(&mut self, now: Instant, slot: usize, from: SocketAddr, buffer: &mut [u8], len: usize) {
        let mut context = PacketContext {
            now,
            reports: &mut self.reports,
            counters: &self.counters,
        };
        lock(&self.entries[slot].port).packet(&mut context, &mut Immediate, from, buffer, len);
    }

    fn receive(&mut self, at: Instant, path: Path, datagram: &[u8]) {
        let Some(slot) = self.slot_of(path.local) else {
            return;
        };
        let mut buffer = [0; BUFFER];
        let len = datagram.len().min(BUFFER);
        buffer[..len].copy_from_slice(&datagram[..len]);
        self.packet(at, slot, path.remote, &mut buffer, len);
    }

    fn set(&mut self, at: SocketAddr, entry: RelayEntry<D>, registry: &mut impl SocketRegistry<D>) {
        match (self.slot_of(at), entry.socket) {
            (Some(slot), _) => {
                let mut port = lock(&self.entries[slot].port);
                port.filter.set(entry.accept);
                port.terminated = entry.terminated;
                if let Some(mut ingress_protection) = entry.ingress_protection {
                    ingress_protection.follow(&port.ingress_protection);
                    if !matches!(ingress_protection, Unprotect::Pending) {
                        port.protected_punts = 0;
                    }
                    port.ingress_protection = ingress_protection;
                }
                port.rtp = entry.rtp;
                port.rtcp = entry.rtcp;
            }
            (None, Some(socket)) => {
                let port = Port {
                    at,
                    filter: SourceFilter::new(entry.accept),
                    terminated: entry.terminated,
                    ingress_protection: entry.ingress_protection.unwrap_or(Unprotect::Pending),
                    rtp: entry.rtp,
                    rtcp: entry.rtcp,
                    protected_punts: 0,
                    traffic: RelayTraffic::default(),
                    last: None,
                    is_gone: false,
                };
                let slot = self.entries.insert(RelaySlot {
                    at,
                    overflows: socket.overflows(),
                    socket,
                    port: Arc::new(Mutex::new(port)),
                });
                self.addresses.insert(at, slot);
                registry.register(slot, &self.entries[slot]);
            }
            (None, None) => unreachable!("a new relay has its socket"),
        }
    }

    fn socket_changed(&mut self, relay: SocketAddr, local: SocketAddr, socket: Option<D>) {
        let Some(slot) = self.slot_of(relay) else { return };
        let port = &mut *lock(&self.entries[slot].port);
        let destinations = [&mut port.rtp, &mut port.rtcp].into_iter().flatten();
        for destination in destinations.filter(|destination| destination.path.local == local) {
            destination.socket = socket.clone();
        }
    }

    fn remove(&mut self, at: SocketAddr, registry: &mut impl SocketRegistry<D>) {
        let Some(slot) = self.addresses.remove(&at) else { return };
        let mut entry = self.entries.remove(slot);
        registry.unregister(&entry);
        // Other holders of the port forward nothing more, so that this report is the last one.
        lock(&entry.port).is_gone = true;
        entry.report(&mut self.reports, &self.counters);
    }

    fn report(&mut self, at: SocketAddr) {
        if let Some(slot) = self.slot_of(at) {
            self.entries[slot].report(&mut self.reports, &self.counters);
        }
    }
}

impl<D: RelaySocket> RelaySlot<D> {
    fn report(&mut self, reports: &mut Reports, counters: &CounterPage) {
        self.count_overflows(counters);
        let port = lock(&self.port);
        let report = Box::new((self.at, port.traffic, port.last));
        reports.send(counters, Report::RelayTraffic(report));
    }

    /// Counts the datagrams that the socket has dropped since the last time.
    fn count_overflows(&mut self, counters: &CounterPage) {
        let overflows = self.socket.overflows();
        let before = std::mem::replace(&mut self.overflows, overflows);
        counters.add(Counter::ReceiveOverflow, overflows.saturating_sub(before));
    }
}
