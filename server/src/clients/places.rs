//! The limits on connections, in all and from one address.
//!
//! A connection that has not joined a room is *pending*, and gives way to others at a limit
//! ([`slots`]). A normal client joins within milliseconds, and a client that is silent on purpose
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
pub(crate) struct Places(Arc<Mutex<State>>);

struct State {
    slots: SlotPool<IpAddr>,
    /// Of pending connections.
    evictions: HashMap<SlotId, oneshot::Sender<Full>>,
}

/// A place of one connection, until it is dropped.
pub(crate) struct Place {
    slot: SlotId,
    places: Places,
}

/// Resolves to the reason once the connection must give its place up.
pub(crate) type Evicted = oneshot::Receiver<Full>;

impl Places {
    /// None of them is taken.
    pub(crate) fn new(limits: Limits) -> Self {
        Places(Arc::new(Mutex::new(State {
            slots: SlotPool::new(limits.into()),
            evictions: HashMap::new(),
        })))
    }

    /// Goes by other limits from now on. Connections there are keep their places.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.state().slots.set_limits(limits.into());
    }

    /// A place for a pending connection from this address; `None` is an address whose clients are
    /// counted elsewhere.
    ///
    /// Errors: there is no place, and no pending connection is old enough to be evicted.
    pub(crate) fn enter(&self, address: Option<IpAddr>, now: Instant) -> Result<(Place, Evicted), Full> {
        let mut state = self.state();
        let entry = state
            .slots
            .enter(now, address.map(address_block).into_iter().collect())?;
        for (slot, why) in entry.evicted {
            state.evict(slot, why);
        }
        let (evict, evicted) = oneshot::channel();
        state.evictions.insert(entry.slot, evict);
        let place = Place {
            slot: entry.slot,
            places: self.clone(),
        };
        Ok((place, evicted))
    }

    /// Takes a pending connection its place, as where the system has no more descriptors.
    pub(crate) fn evict_oldest(&self, now: Instant) {
        let mut state = self.state();
        // If all connections are new, a place is free when one of them ends.
        if let Some(slot) = state.slots.evict(now) {
            state.evict(slot, Full::All);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells a connection that its slot is another's.
    fn evict(&mut self, slot: SlotId, why: Full) {
        if let Some(evict) = self.evictions.remove(&slot) {
            // An error means that it is ending by itself.
            let _ = evict.send(why);
        }
    }
}

impl Place {
    /// The connection has joined, and keeps its place from now on. False when it has lost it
    /// before.
    pub(crate) fn join(&self) -> bool {
        let mut state = self.places.state();
        state.evictions.remove(&self.slot);
        state.slots.settle(self.slot)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.state();
        state.evictions.remove(&self.slot);
        state.slots.leave(self.slot);
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

    fn enter(places: &Places, address: &str, now: Instant) -> Result<(Place, Evicted), Full> {
        places.enter(Some(address.parse().unwrap()), now)
    }

    #[test]
    fn the_oldest_pending_connection_is_evicted_for_the_next_of_its_address() {
        let (places, now) = (Places::new(LIMITS), clock::now());
        let (_first, mut evicted) = enter(&places, "192.0.2.1", now).unwrap();
        let second = enter(&places, "192.0.2.1", now).unwrap();
        assert_eq!(
            enter(&places, "192.0.2.1", now).err(),
            Some(Full::Holder),
            "all have just come"
        );
        assert!(enter(&places, "192.0.2.2", now).is_ok());
        assert!(evicted.try_recv().is_err());

        let third = enter(&places, "192.0.2.1", now + LATER).unwrap();
        assert_eq!(evicted.try_recv(), Ok(Full::Holder));
        drop((second, third));
        assert!(
            enter(&places, "192.0.2.1", now).is_ok(),
            "an evicted place is not given back twice"
        );
    }

    #[test]
    fn a_joined_client_is_not_evicted() {
        let (places, now) = (Places::new(LIMITS), clock::now());
        let mut held = Vec::new();
        for _ in 0..LIMITS.per_address {
            let (place, _) = enter(&places, "192.0.2.1", now).unwrap();
            assert!(place.join());
            held.push(place);
        }
        assert_eq!(enter(&places, "192.0.2.1", now + LATER).err(), Some(Full::Holder));
        held.pop();
        let (place, _) = enter(&places, "192.0.2.1", now).unwrap();
        let _evicts = enter(&places, "192.0.2.1", now + LATER).unwrap();
        assert!(!place.join(), "it has lost its place");
    }

    #[test]
    fn a_full_server_evicts_the_oldest_at_any_address() {
        let (places, now) = (Places::new(LIMITS), clock::now());
        let held: Vec<_> = (0..LIMITS.all)
            .map(|host| enter(&places, &format!("192.0.2.{host}"), now).unwrap())
            .collect();
        assert_eq!(enter(&places, "192.0.2.99", now).err(), Some(Full::All));
        assert!(enter(&places, "192.0.2.99", now + LATER).is_ok());
        assert_eq!(held.iter().filter(|(place, _)| place.join()).count(), LIMITS.all - 1);
        assert_eq!(
            enter(&places, "192.0.2.99", now + LATER).map(drop),
            Ok(()),
            "one was evicted"
        );
    }

    #[test]
    fn a_subscriber_has_one_share_of_all_its_ipv6_addresses() {
        let (places, now) = (Places::new(LIMITS), clock::now());
        let _held = ["2001:db8::1", "2001:db8::2:3:4:5"].map(|address| enter(&places, address, now).unwrap());
        assert_eq!(enter(&places, "2001:db8::ffff", now).err(), Some(Full::Holder));
        assert!(enter(&places, "2001:db8:0:1::1", now).is_ok());
        let _held = ["192.0.2.1", "::ffff:192.0.2.1"].map(|address| enter(&places, address, now).unwrap());
        assert_eq!(enter(&places, "192.0.2.1", now).err(), Some(Full::Holder));
    }

    #[test]
    fn proxies_have_no_share_of_their_own() {
        let (places, now) = (Places::new(LIMITS), clock::now());
        let held: Vec<_> = (0..LIMITS.all).map(|_| places.enter(None, now).unwrap()).collect();
        assert_eq!(places.enter(None, now).err(), Some(Full::All));
        drop(held);
        assert!(places.enter(None, now).is_ok());
    }
}
