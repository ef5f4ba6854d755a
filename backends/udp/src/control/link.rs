//! The control handle's ends of a shard's rings.

use std::sync::Arc;
use std::time::Duration;

use dataplane::{Clock, Counters, Event};
use rtrb::{Producer, PushError, RingBuffer};

use super::inbox;
use super::order::Order;
use crate::alarm::Alarm;
use crate::shard::Shard;
use crate::shard::counters::CounterPage;
use crate::shard::notes::{NoteReader, Notes};
use crate::shard::relay::Link;

/// How many orders may wait in a shard's ring.
const ORDERS_MAX: usize = 4_096;
/// How long to wait between two attempts to place an order in a full ring.
const BACK_OFF: Duration = Duration::from_micros(200);

/// One shard, as the control handle sees it.
pub(super) struct ShardLink {
    orders: Producer<Order>,
    reader: NoteReader,
    counters: Arc<CounterPage>,
    alarm: Arc<Alarm>,
}

/// Shards that can reach each other, and the handle's links to them.
pub(super) fn shard_parts(clock: Clock, alarms: &[Arc<Alarm>], agent: &Arc<Alarm>) -> (Vec<ShardLink>, Vec<Shard>) {
    let mut meshes = mesh(alarms);
    let parts = alarms.iter().enumerate().map(|(index, alarm)| {
        let (orders, orders_reader) = RingBuffer::new(ORDERS_MAX);
        let (notes, reader) = Notes::new(agent.clone());
        let counters = Arc::new(CounterPage::new());
        let links = std::mem::take(&mut meshes[index]);
        let shard = Shard::new(index, clock, counters.clone(), orders_reader, notes, links);
        let link = ShardLink {
            orders,
            reader,
            counters,
            alarm: alarm.clone(),
        };
        (link, shard)
    });
    parts.unzip()
}

/// For each shard, its links to all others.
fn mesh(alarms: &[Arc<Alarm>]) -> Vec<Vec<Option<Link>>> {
    let count = alarms.len();
    let mut meshes: Vec<Vec<Option<Link>>> = (0..count).map(|_| (0..count).map(|_| None).collect()).collect();
    for first in 0..count {
        for second in first + 1..count {
            let [ours, theirs] = Link::pair([&alarms[first], &alarms[second]]);
            meshes[first][second] = Some(ours);
            meshes[second][first] = Some(theirs);
        }
    }
    meshes
}

impl ShardLink {
    /// Places an order that must not be lost: waits for room as long as there is somebody to take it.
    pub(super) fn order(&mut self, mut order: Order) {
        while let Err(PushError::Full(refused)) = self.orders.push(order) {
            if self.orders.is_abandoned() {
                return;
            }
            order = refused;
            self.alarm.raise();
            std::thread::sleep(BACK_OFF);
        }
        self.alarm.raise();
    }

    /// Places an order that may be lost; false when it was.
    pub(super) fn try_order(&mut self, order: Order) -> bool {
        let placed = self.orders.push(order).is_ok();
        self.alarm.raise();
        placed
    }

    /// Whether the shard has taken every order, or is gone.
    pub(super) fn has_taken_all(&self) -> bool {
        self.orders.slots() == ORDERS_MAX || self.orders.is_abandoned()
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        inbox::next_event(&mut self.reader)
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters.read()
    }
}
