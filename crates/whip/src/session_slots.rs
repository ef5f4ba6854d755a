//! The slots of sessions, by the addresses of their clients.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use controller::ConnectionId;
use slots::{Full, Limits, SlotId, SlotPool, address_block};

/// A pool of slots, and the sessions in them.
#[derive(Debug)]
pub(crate) struct SessionSlots {
    slots: SlotPool<IpAddr>,
    sessions: HashMap<SlotId, ConnectionId>,
}

impl SessionSlots {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            slots: SlotPool::new(limits),
            sessions: HashMap::new(),
        }
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.slots.set_limits(limits);
    }

    /// A slot for a session that is not connected yet, and the sessions that have to end for it.
    ///
    /// Errors: there is no slot.
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        address: Option<IpAddr>,
    ) -> Result<(SlotId, Vec<ConnectionId>), Full> {
        let holders = address.map(address_block).into_iter().collect();
        let entry = self.slots.enter(now, holders)?;
        self.sessions.insert(entry.slot, connection);
        let evicted = entry.evicted.iter();
        let evicted = evicted.filter_map(|(slot, _)| self.sessions.remove(slot)).collect();
        Ok((entry.slot, evicted))
    }

    /// The session is connected, and keeps its slot from now on.
    pub(crate) fn settle(&mut self, slot: SlotId) {
        self.slots.settle(slot);
    }

    pub(crate) fn leave(&mut self, slot: SlotId) {
        self.sessions.remove(&slot);
        self.slots.leave(slot);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// The slots of one session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) session: SlotId,
    /// Of a viewer without a token, in its room.
    pub(crate) viewer: Option<SlotId>,
}
