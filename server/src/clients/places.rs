//! The limits on connections, in all and from one address.
//!
//! A connection that has not joined a room is *pending*. At a limit, the oldest pending connection
//! is evicted for the next one: a normal client joins within milliseconds, and a client that is
//! silent on purpose loses its place. So nobody can keep others out by holding connections open,
//! from any address. Connections that have joined keep their places.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

/// How long a pending connection keeps its place in any case.
const PENDING_MIN: Duration = Duration::from_secs(1);

/// The part of an IPv6 address that one subscriber chooses freely.
const SUBSCRIBER_BITS: u32 = 64;

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

/// Why there is no place, or no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Full {
    /// The address has its share.
    Address,
    /// The server is full.
    Server,
}

/// Hands out places. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Places(Arc<Mutex<State>>);

struct State {
    limits: Limits,
    all: usize,
    addresses: HashMap<IpAddr, Share>,
    pending: BTreeMap<u64, Pending>,
    joined: HashSet<u64>,
    given: u64,
}

#[derive(Default)]
struct Share {
    all: usize,
    pending: BTreeSet<u64>,
}

struct Pending {
    block: Option<IpAddr>,
    since: Instant,
    evict: oneshot::Sender<Full>,
}

/// A place of one connection, until it is dropped.
pub(crate) struct Place {
    number: u64,
    block: Option<IpAddr>,
    places: Places,
}

/// Resolves to the reason once the connection must give its place up.
pub(crate) type Evicted = oneshot::Receiver<Full>;

impl Places {
    /// None of them is taken.
    pub(crate) fn new(limits: Limits) -> Self {
        Places(Arc::new(Mutex::new(State {
            limits,
            all: 0,
            addresses: HashMap::new(),
            pending: BTreeMap::new(),
            joined: HashSet::new(),
            given: 0,
        })))
    }

    /// Goes by other limits from now on. Connections there are keep their places.
    pub(crate) fn set_limits(&self, limits: Limits) {
        self.state().limits = limits;
    }

    /// A place for a pending connection from this address; `None` is an address whose clients are
    /// counted elsewhere.
    ///
    /// Errors: there is no place, and no pending connection is old enough to be evicted.
    pub(crate) fn enter(&self, address: Option<IpAddr>, now: Instant) -> Result<(Place, Evicted), Full> {
        let block = address.map(block);
        let mut state = self.state();
        state.make_room(block, now)?;
        state.given += 1;
        let number = state.given;
        let (evict, evicted) = oneshot::channel();
        state.all += 1;
        if let Some(block) = block {
            let share = state.addresses.entry(block).or_default();
            share.all += 1;
            share.pending.insert(number);
        }
        let pending = Pending {
            block,
            since: now,
            evict,
        };
        state.pending.insert(number, pending);
        let place = Place {
            number,
            block,
            places: self.clone(),
        };
        Ok((place, evicted))
    }

    /// Takes the oldest pending connection its place, as where the system has no more descriptors.
    pub(crate) fn evict_oldest(&self, now: Instant) {
        let mut state = self.state();
        let oldest = state.pending.keys().next().copied();
        // An error means that all connections are new; a place is free when one of them ends.
        let _ = state.evict(oldest, now, Full::Server);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn make_room(&mut self, block: Option<IpAddr>, now: Instant) -> Result<(), Full> {
        let share = block.and_then(|block| self.addresses.get(&block));
        if let Some(share) = share
            && (share.all >= self.limits.per_address || share.pending.len() >= self.limits.pending_per_address)
        {
            let oldest = share.pending.first().copied();
            self.evict(oldest, now, Full::Address)?;
        }
        if self.all >= self.limits.all {
            self.evict(self.pending.keys().next().copied(), now, Full::Server)?;
        }
        Ok(())
    }

    fn evict(&mut self, number: Option<u64>, now: Instant, why: Full) -> Result<(), Full> {
        let number = number.ok_or(why)?;
        if self
            .pending
            .get(&number)
            .is_none_or(|pending| now < pending.since + PENDING_MIN)
        {
            return Err(why);
        }
        if let Some(pending) = self.pending.remove(&number) {
            self.leave(number, pending.block);
            // An error means that it is ending by itself.
            let _ = pending.evict.send(why);
        }
        Ok(())
    }

    fn leave(&mut self, number: u64, block: Option<IpAddr>) {
        self.all -= 1;
        let Some(block) = block else { return };
        if let Some(share) = self.addresses.get_mut(&block) {
            share.all -= 1;
            share.pending.remove(&number);
            if share.all == 0 {
                self.addresses.remove(&block);
            }
        }
    }
}

impl Place {
    /// The connection has joined, and keeps its place from now on. False when it has lost it
    /// before.
    pub(crate) fn join(&self) -> bool {
        let mut state = self.places.state();
        let is_pending = state.pending.remove(&self.number).is_some();
        if let Some(share) = self.block.and_then(|block| state.addresses.get_mut(&block)) {
            share.pending.remove(&self.number);
        }
        if is_pending {
            state.joined.insert(self.number);
        }
        is_pending || state.joined.contains(&self.number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.state();
        let was_there = state.pending.remove(&self.number).is_some() || state.joined.remove(&self.number);
        if was_there {
            state.leave(self.number, self.block);
        }
    }
}

/// The addresses that share their places: an IPv4 address alone, or the IPv6 addresses of one
/// subscriber.
fn block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> SUBSCRIBER_BITS << SUBSCRIBER_BITS).into(),
        v4 => v4,
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
            Some(Full::Address),
            "all have just come"
        );
        assert!(enter(&places, "192.0.2.2", now).is_ok());
        assert!(evicted.try_recv().is_err());

        let third = enter(&places, "192.0.2.1", now + LATER).unwrap();
        assert_eq!(evicted.try_recv(), Ok(Full::Address));
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
        assert_eq!(enter(&places, "192.0.2.1", now + LATER).err(), Some(Full::Address));
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
        assert_eq!(enter(&places, "192.0.2.99", now).err(), Some(Full::Server));
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
        assert_eq!(enter(&places, "2001:db8::ffff", now).err(), Some(Full::Address));
        assert!(enter(&places, "2001:db8:0:1::1", now).is_ok());
        let _held = ["192.0.2.1", "::ffff:192.0.2.1"].map(|address| enter(&places, address, now).unwrap());
        assert_eq!(enter(&places, "192.0.2.1", now).err(), Some(Full::Address));
    }

    #[test]
    fn proxies_have_no_share_of_their_own() {
        let (places, now) = (Places::new(LIMITS), clock::now());
        let held: Vec<_> = (0..LIMITS.all).map(|_| places.enter(None, now).unwrap()).collect();
        assert_eq!(places.enter(None, now).err(), Some(Full::Server));
        drop(held);
        assert!(places.enter(None, now).is_ok());
    }
}
