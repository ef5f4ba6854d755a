//! All relays of one worker.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use dataplane::{Accept, Counter, RelayTraffic};
use rtrb::Consumer;

use super::port::{Gate, Ledger, LockedPort, Opens, Port, Way, lock};
use super::{AtOnce, Door};
use crate::control::WorkerEnds;
use crate::shard::counters::CounterPage;
use crate::shard::report::Report;
use crate::shard::reports::Reports;
use crate::shard::slab::Slab;

/// How many commands are taken before packets are looked at again.
const COMMANDS_PER_TURN: usize = 256;

/// What the control handle tells a desk. Entries were validated before.
pub(crate) enum RelayShardCommand<D> {
    /// A relay is there, or has another value.
    Set(SocketAddr, Box<Setting<D>>),
    /// The port that hops of a relay leave from is open now, or closed.
    Door {
        relay: SocketAddr,
        local: SocketAddr,
        door: Option<D>,
    },
    /// A relay goes, with a last report.
    Remove(SocketAddr),
    /// Report.
    Report(SocketAddr),
}

/// A relay's value.
pub(crate) struct Setting<D> {
    /// The port itself, when it is new.
    pub(super) door: Option<D>,
    pub(super) accept: Accept,
    pub(super) terminated: bool,
    /// `None`: as before, and with what was opened before.
    pub(super) ingress_protection: Option<Opens>,
    pub(super) rtp: Option<Way<D>>,
    pub(super) rtcp: Option<Way<D>>,
}

/// Hears which doors a desk takes datagrams from.
pub(crate) trait Watch<D> {
    /// Datagrams that arrive at `home.door` are to be given to the desk with this place.
    fn begin(&mut self, place: usize, home: &Home<D>);

    /// No more.
    fn end(&mut self, home: &Home<D>);
}

/// One relay of a desk's.
pub(crate) struct Home<D> {
    pub(super) at: SocketAddr,
    pub(super) door: D,
    pub(super) port: LockedPort<D>,
    /// Of the door's, those counted already.
    overflows: u64,
}

/// All relays of one worker: commands and datagrams in, datagrams out through doors.
pub(crate) struct Desk<D> {
    affinity: Slab<Home<D>>,
    places: HashMap<SocketAddr, usize>,
    commands: Consumer<RelayShardCommand<D>>,
    reports: Reports,
    counters: Arc<CounterPage>,
}

impl<D: Door> Desk<D> {
    pub(super) fn new(ends: WorkerEnds<RelayShardCommand<D>>) -> Self {
        Desk {
            affinity: Slab::new(),
            places: HashMap::new(),
            commands: ends.commands,
            reports: ends.reports,
            counters: ends.counters,
        }
    }

    /// Where the relay at this address is, if it is one of this desk's.
    pub(crate) fn place_of(&self, at: SocketAddr) -> Option<usize> {
        self.places.get(&at).copied()
    }

    /// The door that datagrams for this place come in by.
    pub(super) fn door(&self, place: usize) -> &D {
        &self.affinity[place].door
    }

    /// Takes a datagram that has arrived at the relay at `place`: the first `len` bytes of
    /// `buffer`, which has room for [`BUFFER`](super::BUFFER). Of one that is longer than the
    /// buffer `len` is the true length.
    pub(crate) fn packet(&mut self, now: Instant, place: usize, from: SocketAddr, buffer: &mut [u8], len: usize) {
        let mut ledger = Ledger {
            now,
            reports: &mut self.reports,
            counters: &self.counters,
        };
        lock(&self.affinity[place].port).packet(&mut ledger, &mut AtOnce, from, buffer, len);
    }

    /// Takes what the control handle wants done; returns how much that was.
    pub(crate) fn take_commands(&mut self, watch: &mut impl Watch<D>) -> usize {
        let mut taken = 0;
        while taken < COMMANDS_PER_TURN
            && let Ok(command) = self.commands.pop()
        {
            taken += 1;
            match command {
                RelayShardCommand::Set(at, setting) => self.set(at, *setting, watch),
                RelayShardCommand::Door { relay, local, door } => self.door_changed(relay, local, door),
                RelayShardCommand::Remove(at) => self.remove(at, watch),
                RelayShardCommand::Report(at) => self.report(at),
            }
        }
        taken
    }

    /// Whether commands wait: asked between arming the wake-up and going to sleep.
    pub(super) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Ends a batch: wakes the agent if there is something for it.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.reports.settle(now);
    }

    /// When to [`settle`](Self::settle) even if nothing happens.
    pub(super) fn due(&self) -> Option<Instant> {
        self.reports.due()
    }

    fn set(&mut self, at: SocketAddr, setting: Setting<D>, watch: &mut impl Watch<D>) {
        match (self.place_of(at), setting.door) {
            (Some(place), _) => {
                let mut port = lock(&self.affinity[place].port);
                port.gate.set(setting.accept);
                port.terminated = setting.terminated;
                if let Some(ingress_protection) = setting.ingress_protection {
                    port.ingress_protection = ingress_protection;
                }
                port.rtp = setting.rtp;
                port.rtcp = setting.rtcp;
            }
            (None, Some(door)) => {
                let port = Port {
                    at,
                    gate: Gate::new(setting.accept),
                    terminated: setting.terminated,
                    ingress_protection: setting.ingress_protection.unwrap_or(Opens::Pending),
                    rtp: setting.rtp,
                    rtcp: setting.rtcp,
                    traffic: RelayTraffic::default(),
                    last: None,
                    is_gone: false,
                };
                let place = self.affinity.insert(Home {
                    at,
                    overflows: door.overflows(),
                    door,
                    port: Arc::new(Mutex::new(port)),
                });
                self.places.insert(at, place);
                watch.begin(place, &self.affinity[place]);
            }
            (None, None) => unreachable!("a relay is new with its door"),
        }
    }

    fn door_changed(&mut self, relay: SocketAddr, local: SocketAddr, door: Option<D>) {
        let Some(place) = self.place_of(relay) else { return };
        let port = &mut *lock(&self.affinity[place].port);
        let ways = [&mut port.rtp, &mut port.rtcp].into_iter().flatten();
        for way in ways.filter(|way| way.path.local == local) {
            way.door = door.clone();
        }
    }

    fn remove(&mut self, at: SocketAddr, watch: &mut impl Watch<D>) {
        let Some(place) = self.places.remove(&at) else { return };
        let mut home = self.affinity.remove(place);
        watch.end(&home);
        // Whoever holds it still takes nothing more, so that the report is the last word.
        lock(&home.port).is_gone = true;
        home.report(&mut self.reports, &self.counters);
    }

    fn report(&mut self, at: SocketAddr) {
        if let Some(place) = self.place_of(at) {
            self.affinity[place].report(&mut self.reports, &self.counters);
        }
    }
}

impl<D: Door> Home<D> {
    fn report(&mut self, reports: &mut Reports, counters: &CounterPage) {
        self.count_overflows(counters);
        let port = lock(&self.port);
        let report = Box::new((self.at, port.traffic, port.last));
        reports.send(counters, Report::RelayTraffic(report));
    }

    /// Counts what was dropped at the door since the last time.
    fn count_overflows(&mut self, counters: &CounterPage) {
        let overflows = self.door.overflows();
        let before = std::mem::replace(&mut self.overflows, overflows);
        counters.add(Counter::ReceiveOverflow, overflows.saturating_sub(before));
    }
}
