//! The limits on connections, in all and from one address.
//!
//! A connection that has not joined a room is *pending*, and gives way to others at a limit
//! ([`pool`]). A normal client joins within milliseconds, and a client that is silent on purpose
//! loses its place. So nobody can keep others out by holding connections open, from any address.
//! Connections that have joined keep their places, and one address leaves some to others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use slots::Full;
use slots::{SlotId, SlotPool, address_block};
use tokio::sync::oneshot;

use crate::config;

/// How long a pending connection keeps its place in any case.
const PENDING_MIN: Duration = Duration::from_secs(1);

/// How many there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// In all.
    pub all: usize,
    /// From one address.
    pub per_address: usize,
    /// Of those, pending.
    pub pending_per_address: usize,
}

impl Limits {
    /// The same for sessions of WHIP and WHEP, none of which is a request.
    pub(crate) fn sessions(self) -> slots::Limits {
        slots::Limits {
            pending_per_holder: self.per_address,
            pending_min: whip::limits::CONNECT_MIN,
            ..self.into()
        }
    }
}

impl From<&config::Limits> for Limits {
    fn from(limits: &config::Limits) -> Self {
        Limits {
            all: limits.connections,
            per_address: limits.connections_per_address,
            pending_per_address: limits.requests_per_address,
        }
    }
}

impl From<Limits> for slots::Limits {
    fn from(limits: Limits) -> Self {
        slots::Limits {
            all: limits.all,
            per_holder: limits.per_address,
            pending_per_holder: limits.pending_per_address,
            pending_min: PENDING_MIN,
        }
    }
}

/// Hands out places. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectionSlots(Arc<Mutex<State>>);

struct State {
    pool: SlotPool<IpAddr>,
    /// Of pending connections.
    evictions: HashMap<SlotId, oneshot::Sender<Full>>,
}

/// A place of one connection, until it is dropped.
pub(crate) struct ConnectionSlot {
    id: SlotId,
    slots: ConnectionSlots,
}

/// Resolves to the reason once the connection must give its place up.
pub(crate) type Evicted = oneshot::Receiver<Full>;

impl ConnectionSlots {
    /// None of them is taken.
    pub(crate) fn new(limits: Limits) -> Self {
        ConnectionSlots(Arc::new(Mutex::new(State {
            pool: SlotPool::new(limits.into()),
            evictions: HashMap::new(),
        })))
    }

    /// Goes by other limits from now on. Connections there are keep their places.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.state().pool.set_limits(limits.into());
    }

    /// A place for a pending connection from this address; `None` is an address whose clients are
    /// counted elsewhere.
    ///
    /// Errors: there is no place, and no pending connection is old enough to be evicted.
    pub(crate) fn enter(&self, address: Option<IpAddr>, now: Instant) -> Result<(ConnectionSlot, Evicted), Full> {
        let mut state = self.state();
        let entry = state
            .pool
            .enter(now, address.map(address_block).into_iter().collect())?;
        for (id, why) in entry.evicted {
            state.evict(id, why);
        }
        let (evict, evicted) = oneshot::channel();
        state.evictions.insert(entry.slot, evict);
        let slot = ConnectionSlot {
            id: entry.slot,
            slots: self.clone(),
        };
        Ok((slot, evicted))
    }

    /// Takes a pending connection its place, as where the system has no more descriptors.
    pub(crate) fn evict_oldest(&self, now: Instant) {
        let mut state = self.state();
        // If all connections are new, a place is free when one of them ends.
        if let Some(id) = state.pool.evict(now) {
            state.evict(id, Full::All);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells a connection that its slot is another's.
    fn evict(&mut self, id: SlotId, why: Full) {
        if let Some(evict) = self.evictions.remove(&id) {
            // An error means that it is ending by itself.
            let _ = evict.send(why);
        }
    }
}

impl ConnectionSlot {
    /// The connection has joined, and keeps its place from now on. False when it has lost it
    /// before.
    pub(crate) fn join(&self) -> bool {
        let mut state = self.slots.state();
        state.evictions.remove(&self.id);
        state.pool.settle(self.id)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        state.evictions.remove(&self.id);
        state.pool.leave(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::clock;

    const LIMITS: Limits = Limits {
        all: 5,
        per_address: 3,
        pending_per_address: 2,
    };
    const LATER: Duration = Duration::from_secs(2);

    fn enter(slots: &ConnectionSlots, address: &str, now: Instant) -> Result<(ConnectionSlot, Evicted), Full> {
        slots.enter(Some(address.parse().unwrap()), now)
    }

    #[test]
    fn the_oldest_pending_connection_is_evicted_for_the_next_of_its_address() {
        let (slots, now) = (ConnectionSlots::new(LIMITS), clock::now());
        let (_first, mut evicted) = enter(&slots, "192.0.2.1", now).unwrap();
        let second = enter(&slots, "192.0.2.1", now).unwrap();
        assert_eq!(
            enter(&slots, "192.0.2.1", now).err(),
            Some(Full::Holder),
            "all have just come"
        );
        assert!(enter(&slots, "192.0.2.2", now).is_ok());
        assert!(evicted.try_recv().is_err());

        let third = enter(&slots, "192.0.2.1", now + LATER).unwrap();
        assert_eq!(evicted.try_recv(), Ok(Full::Holder));
        drop((second, third));
        assert!(
            enter(&slots, "192.0.2.1", now).is_ok(),
            "an evicted place is not given back twice"
        );
    }

    #[test]
    fn a_joined_client_is_not_evicted() {
        let (slots, now) = (ConnectionSlots::new(LIMITS), clock::now());
        let mut held = Vec::new();
        for _ in 0..LIMITS.per_address {
            let (slot, _) = enter(&slots, "192.0.2.1", now).unwrap();
            assert!(slot.join());
            held.push(slot);
        }
        assert_eq!(enter(&slots, "192.0.2.1", now + LATER).err(), Some(Full::Holder));
        held.pop();
        let (slot, _) = enter(&slots, "192.0.2.1", now).unwrap();
        let _evicts = enter(&slots, "192.0.2.1", now + LATER).unwrap();
        assert!(!slot.join(), "it has lost its place");
    }

    #[test]
    fn a_full_server_evicts_the_oldest_at_any_address() {
        let (slots, now) = (ConnectionSlots::new(LIMITS), clock::now());
        let held: Vec<_> = (0..LIMITS.all)
            .map(|host| enter(&slots, &format!("192.0.2.{host}"), now).unwrap())
            .collect();
        assert_eq!(enter(&slots, "192.0.2.99", now).err(), Some(Full::All));
        assert!(enter(&slots, "192.0.2.99", now + LATER).is_ok());
        assert_eq!(held.iter().filter(|(slot, _)| slot.join()).count(), LIMITS.all - 1);
        assert_eq!(
            enter(&slots, "192.0.2.99", now + LATER).map(drop),
            Ok(()),
            "one was evicted"
        );
    }

    #[test]
    fn a_subscriber_has_one_share_of_all_its_ipv6_addresses() {
        let (slots, now) = (ConnectionSlots::new(LIMITS), clock::now());
        let _held = ["2001:db8::1", "2001:db8::2:3:4:5"].map(|address| enter(&slots, address, now).unwrap());
        assert_eq!(enter(&slots, "2001:db8::ffff", now).err(), Some(Full::Holder));
        assert!(enter(&slots, "2001:db8:0:1::1", now).is_ok());
        let _held = ["192.0.2.1", "::ffff:192.0.2.1"].map(|address| enter(&slots, address, now).unwrap());
        assert_eq!(enter(&slots, "192.0.2.1", now).err(), Some(Full::Holder));
    }

    #[test]
    fn proxies_have_no_share_of_their_own() {
        let (slots, now) = (ConnectionSlots::new(LIMITS), clock::now());
        let held: Vec<_> = (0..LIMITS.all).map(|_| slots.enter(None, now).unwrap()).collect();
        assert_eq!(slots.enter(None, now).err(), Some(Full::All));
        drop(held);
        assert!(slots.enter(None, now).is_ok());
    }
}
