//! The control handle's ends of a worker's rings.

use std::sync::Arc;
use std::time::Duration;

use dataplane::{Clock, Counters, Event};
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::inbox;
use super::order::Order;
use crate::shard::Shard;
use crate::shard::counters::CounterPage;
use crate::shard::notes::{NoteReader, Notes};
use crate::shard::relay::Link;
use crate::wakeup::Wakeup;

/// How many orders may wait in a worker's ring.
const ORDERS_MAX: usize = 4_096;
/// How long to wait between two attempts to place an order in a full ring.
const BACK_OFF: Duration = Duration::from_micros(200);

/// One worker that takes orders `O`, as the control handle sees it.
pub(crate) struct WorkerLink<O> {
    orders: Producer<O>,
    reader: NoteReader,
    counters: Arc<CounterPage>,
    wakeup: Arc<Wakeup>,
    /// Whether an order was placed that the worker has not been woken for.
    has_left: bool,
}

/// The worker's ends.
pub(crate) struct WorkerEnds<O> {
    pub(crate) orders: Consumer<O>,
    pub(crate) notes: Notes,
    pub(crate) counters: Arc<CounterPage>,
}

/// Shards that can reach each other, and the handle's links to them.
pub(super) fn shard_parts(
    clock: Clock,
    wakeups: &[Arc<Wakeup>],
    agent: &Arc<Wakeup>,
) -> (Vec<WorkerLink<Order>>, Vec<Shard>) {
    let mut meshes = mesh(wakeups);
    let parts = wakeups.iter().enumerate().map(|(index, wakeup)| {
        let (link, ends) = WorkerLink::new(wakeup, agent);
        let links = std::mem::take(&mut meshes[index]);
        let shard = Shard::new(index, clock, ends.counters, ends.orders, ends.notes, links);
        (link, shard)
    });
    parts.unzip()
}

/// For each shard, its links to all others.
fn mesh(wakeups: &[Arc<Wakeup>]) -> Vec<Vec<Option<Link>>> {
    let count = wakeups.len();
    let mut meshes: Vec<Vec<Option<Link>>> = (0..count).map(|_| (0..count).map(|_| None).collect()).collect();
    for first in 0..count {
        for second in first + 1..count {
            let [ours, theirs] = Link::pair([&wakeups[first], &wakeups[second]]);
            meshes[first][second] = Some(ours);
            meshes[second][first] = Some(theirs);
        }
    }
    meshes
}

impl<O> WorkerLink<O> {
    /// A link to a worker that `wakeup` wakes; it wakes the handle's owner by `agent`.
    pub(crate) fn new(wakeup: &Arc<Wakeup>, agent: &Arc<Wakeup>) -> (Self, WorkerEnds<O>) {
        let (orders, orders_reader) = RingBuffer::new(ORDERS_MAX);
        let (notes, reader) = Notes::new(agent.clone());
        let counters = Arc::new(CounterPage::new());
        let link = WorkerLink {
            orders,
            reader,
            counters: counters.clone(),
            wakeup: wakeup.clone(),
            has_left: false,
        };
        let ends = WorkerEnds {
            orders: orders_reader,
            notes,
            counters,
        };
        (link, ends)
    }

    /// Places an order that must not be lost, and has it taken at once.
    pub(crate) fn order(&mut self, order: O) {
        self.leave(order);
        self.wake();
    }

    /// Places an order that must not be lost and is taken before the next packet, or when the
    /// worker is [reminded](Self::remind), which is soon enough: whoever sleeps goes on sleeping.
    /// Waits for room as long as there is somebody to take it.
    pub(crate) fn leave(&mut self, mut order: O) {
        while let Err(PushError::Full(refused)) = self.orders.push(order) {
            if self.orders.is_abandoned() {
                return;
            }
            order = refused;
            self.wakeup.wake();
            std::thread::sleep(BACK_OFF);
        }
        self.has_left = true;
    }

    /// Places an order that may be lost; false when it was.
    pub(crate) fn try_order(&mut self, order: O) -> bool {
        let placed = self.try_leave(order);
        self.wake();
        placed
    }

    /// As [`leave`](Self::leave), of an order that may be lost; false when it was.
    pub(crate) fn try_leave(&mut self, order: O) -> bool {
        self.has_left = true;
        self.orders.push(order).is_ok()
    }

    /// Has the worker take what was left before.
    pub(crate) fn remind(&mut self) {
        if std::mem::take(&mut self.has_left) {
            self.hurry();
        }
    }

    /// Whether the worker has taken every order, or is gone; where it has not it is woken for them.
    pub(crate) fn hurry(&self) -> bool {
        let has_taken_all = self.orders.slots() == ORDERS_MAX || self.orders.is_abandoned();
        if !has_taken_all {
            self.wakeup.wake();
        }
        has_taken_all
    }

    /// Wakes the worker, for whatever lies there.
    fn wake(&mut self) {
        self.has_left = false;
        self.wakeup.wake();
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        inbox::next_event(&mut self.reader)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters.read()
    }
}
