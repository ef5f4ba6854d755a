//! The places of connections, and the counters that they share.
//!
//! A connection is *unclaimed* until it is a leg's, and gives way to others at a limit ([`pool`]).
//! So nobody can keep others out by holding connections open. Connections of legs keep their
//! places, and one address leaves some to others.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use slots::{Limits, SlotId, SlotPool, address_block};

use super::statistics::{Counts, TcpEvent};
use super::{CONNECTIONS_MAX, QUEUE_MAX, QUEUES_MAX, QUEUES_SHARED, UNCLAIMED_MIN};

/// The counters that connections share: their places, and the bytes in their queues.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    slots: Mutex<ConnectionSlots>,
    /// Bytes that wait in queues.
    pub(super) waiting: AtomicUsize,
    pub(super) counts: Arc<Counts>,
}

#[derive(Debug)]
struct ConnectionSlots {
    pool: SlotPool<IpAddr>,
    /// The streams of unclaimed connections.
    unclaimed: HashMap<SlotId, Arc<TcpStream>>,
}

impl Default for ConnectionSlots {
    fn default() -> Self {
        ConnectionSlots {
            pool: SlotPool::new(Limits::shared(CONNECTIONS_MAX, UNCLAIMED_MIN)),
            unclaimed: HashMap::new(),
        }
    }
}

/// A connection's place among those that there may be. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    pub(super) shared: Arc<Shared>,
    id: SlotId,
    is_claimed: AtomicBool,
}

impl Shared {
    /// A place for one more connection from an address, if there is one, or if an unclaimed
    /// connection is old enough to be evicted. The reader of that one learns of it as of an end by
    /// the other side.
    pub(super) fn slot(
        self: &Arc<Self>,
        now: Instant,
        from: IpAddr,
        stream: &Arc<TcpStream>,
    ) -> Option<ConnectionSlot> {
        let mut slots = locked(&self.slots);
        let entry = slots.pool.enter(now, vec![address_block(from)]).ok()?;
        for (evicted, _) in entry.evicted {
            if let Some(stream) = slots.unclaimed.remove(&evicted) {
                // An error means that it has ended already.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        slots.unclaimed.insert(entry.slot, stream.clone());
        self.counts.set_connections(slots.pool.len());
        Some(ConnectionSlot {
            shared: self.clone(),
            id: entry.slot,
            is_claimed: AtomicBool::new(false),
        })
    }

    /// How many bytes may wait in one queue.
    pub(super) fn queue_max(&self) -> usize {
        let free = QUEUES_MAX.saturating_sub(self.waiting.load(Ordering::Relaxed));
        QUEUE_MAX.min(free / QUEUES_SHARED)
    }
}

impl ConnectionSlot {
    /// Whether the connection is a leg's, or was.
    pub(super) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Relaxed)
    }

    /// The connection is a leg's, and keeps its place from now on.
    pub(super) fn claim(&self) {
        if self.is_claimed() {
            return;
        }
        let mut slots = locked(&self.shared.slots);
        if slots.pool.settle(self.id) {
            slots.unclaimed.remove(&self.id);
            self.is_claimed.store(true, Ordering::Relaxed);
        }
    }

    /// Why the connection has ended, if it seems to be for this reason.
    pub(super) fn reason(&self, seeming: TcpEvent) -> TcpEvent {
        let keeps = locked(&self.shared.slots).pool.contains(self.id);
        if keeps { seeming } else { TcpEvent::TooMany }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut slots = locked(&self.shared.slots);
        slots.unclaimed.remove(&self.id);
        slots.pool.leave(self.id);
        self.shared.counts.set_connections(slots.pool.len());
    }
}

/// The value behind a lock. No holder panics between two steps of a change.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A stream for all places.
    fn stream() -> Arc<TcpStream> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Arc::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap())
    }

    #[test]
    fn full_queues_of_many_leave_room_to_the_next() {
        let shared = Shared::default();
        assert_eq!(shared.queue_max(), QUEUE_MAX);
        let mut queues = 0;
        while queues < CONNECTIONS_MAX {
            shared.waiting.fetch_add(shared.queue_max(), Ordering::Relaxed);
            queues += 1;
        }
        assert!(shared.queue_max() >= crate::tcp::FRAME_MAX);
    }

    #[test]
    fn connections_of_one_network_leave_places_to_others() {
        let (shared, stream, now) = (Arc::<Shared>::default(), stream(), Instant::now());
        let slot = |from: &str| shared.slot(now, from.parse().unwrap(), &stream);
        let mut held = Vec::new();
        while let Some(slot) = slot(&format!("2001:db8::{:x}", held.len())) {
            slot.claim();
            held.push(slot);
        }
        assert!(
            held.len() > CONNECTIONS_MAX / 2 && held.len() < CONNECTIONS_MAX,
            "{}",
            held.len()
        );
        assert!(slot("2001:db8:0:1::1").is_some() && slot("192.0.2.1").is_some());
        drop(held);
        assert!(locked(&shared.slots).pool.is_empty());
    }

    #[test]
    fn the_oldest_unclaimed_connection_of_an_address_gives_way() {
        let (shared, stream, now) = (Arc::<Shared>::default(), stream(), Instant::now());
        let slot = |now, from: &str| shared.slot(now, from.parse().unwrap(), &stream);
        let mut held = Vec::new();
        while let Some(slot) = slot(now, "192.0.2.1") {
            held.push(slot);
        }
        held[0].claim();
        let last = slot(now + UNCLAIMED_MIN, "192.0.2.1").expect("the second is old");
        assert_eq!(held[0].reason(TcpEvent::Ended), TcpEvent::Ended);
        assert_eq!(held[1].reason(TcpEvent::Ended), TcpEvent::TooMany);
        assert_eq!(locked(&shared.slots).pool.len(), held.len());
        drop((held, last));
        assert!(locked(&shared.slots).pool.is_empty());
        assert!(locked(&shared.slots).unclaimed.is_empty());
    }
}
