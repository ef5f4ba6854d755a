//! All relays of one worker.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use dataplane::{Accept, RelayTraffic};
use rtrb::Consumer;

use super::Door;
use super::port::{Gate, Ledger, Opens, Port, Way};
use crate::control::WorkerEnds;
use crate::shard::counters::CounterPage;
use crate::shard::notes::{Note, Notes};
use crate::shard::slab::Slab;

/// How many orders are taken before packets are looked at again.
const ORDERS_PER_TURN: usize = 256;

/// What the control handle tells a desk. Entries were validated before.
pub(crate) enum Order<D> {
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
    pub(super) opens: Option<Opens>,
    pub(super) rtp: Option<Way<D>>,
    pub(super) rtcp: Option<Way<D>>,
}

/// Hears which doors a desk takes datagrams from.
pub(crate) trait Watch<D> {
    /// Datagrams that arrive at `door` are to be given to the desk with this place.
    fn begin(&mut self, place: usize, door: &D);

    /// No more.
    fn end(&mut self, door: &D);
}

/// All relays of one worker: orders and datagrams in, datagrams out through doors.
pub(crate) struct Desk<D> {
    ports: Slab<Port<D>>,
    places: HashMap<SocketAddr, usize>,
    orders: Consumer<Order<D>>,
    notes: Notes,
    counters: Arc<CounterPage>,
}

impl<D: Door> Desk<D> {
    pub(super) fn new(ends: WorkerEnds<Order<D>>) -> Self {
        Desk {
            ports: Slab::new(),
            places: HashMap::new(),
            orders: ends.orders,
            notes: ends.notes,
            counters: ends.counters,
        }
    }

    /// Where the relay at this address is, if it is one of this desk's.
    pub(crate) fn place_of(&self, at: SocketAddr) -> Option<usize> {
        self.places.get(&at).copied()
    }

    /// The door that datagrams for this place come in by.
    pub(super) fn door(&self, place: usize) -> &D {
        &self.ports[place].door
    }

    /// Takes a datagram that has arrived at the relay at `place`: the first `len` bytes of `buffer`, which has room for [`BUFFER`](super::BUFFER).
    /// Of one that is longer than the buffer `len` is the true length.
    pub(crate) fn packet(&mut self, now: Instant, place: usize, from: SocketAddr, buffer: &mut [u8], len: usize) {
        let mut ledger = Ledger {
            now,
            notes: &mut self.notes,
            counters: &self.counters,
        };
        self.ports[place].packet(&mut ledger, from, buffer, len);
    }

    /// Takes what the control handle wants done; returns how much that was.
    pub(crate) fn take_orders(&mut self, watch: &mut impl Watch<D>) -> usize {
        let mut taken = 0;
        while taken < ORDERS_PER_TURN
            && let Ok(order) = self.orders.pop()
        {
            taken += 1;
            match order {
                Order::Set(at, setting) => self.set(at, *setting, watch),
                Order::Door { relay, local, door } => self.door_changed(relay, local, door),
                Order::Remove(at) => self.remove(at, watch),
                Order::Report(at) => self.report(at),
            }
        }
        taken
    }

    /// Whether orders wait: to be asked between arming the alarm and going to sleep.
    pub(super) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }

    /// Ends a batch: wakes the agent if there is something for it.
    pub(crate) fn settle(&mut self, now: Instant) {
        self.notes.settle(now);
    }

    /// When to [`settle`](Self::settle) even if nothing happens.
    pub(super) fn due(&self) -> Option<Instant> {
        self.notes.due()
    }

    fn set(&mut self, at: SocketAddr, setting: Setting<D>, watch: &mut impl Watch<D>) {
        match (self.place_of(at), setting.door) {
            (Some(place), _) => {
                let port = &mut self.ports[place];
                port.gate.set(setting.accept);
                port.terminated = setting.terminated;
                if let Some(opens) = setting.opens {
                    port.opens = opens;
                }
                port.rtp = setting.rtp;
                port.rtcp = setting.rtcp;
            }
            (None, Some(door)) => {
                let place = self.ports.insert(Port {
                    at,
                    overflows: door.overflows(),
                    door: door.clone(),
                    gate: Gate::new(setting.accept),
                    terminated: setting.terminated,
                    opens: setting.opens.unwrap_or(Opens::Pending),
                    rtp: setting.rtp,
                    rtcp: setting.rtcp,
                    traffic: RelayTraffic::default(),
                    last: None,
                });
                self.places.insert(at, place);
                watch.begin(place, &door);
            }
            (None, None) => unreachable!("a relay is new with its door"),
        }
    }

    fn door_changed(&mut self, relay: SocketAddr, local: SocketAddr, door: Option<D>) {
        let Some(place) = self.place_of(relay) else { return };
        let port = &mut self.ports[place];
        let ways = [&mut port.rtp, &mut port.rtcp].into_iter().flatten();
        for way in ways.filter(|way| way.path.local == local) {
            way.door = door.clone();
        }
    }

    fn remove(&mut self, at: SocketAddr, watch: &mut impl Watch<D>) {
        self.report(at);
        if let Some(place) = self.places.remove(&at) {
            watch.end(&self.ports.remove(place).door);
        }
    }

    fn report(&mut self, at: SocketAddr) {
        let Some(place) = self.place_of(at) else { return };
        let port = &mut self.ports[place];
        port.count_overflows(&self.counters);
        let report = Box::new((at, port.traffic, port.last));
        self.notes.tell(&self.counters, Note::RelayTraffic(report));
    }
}
