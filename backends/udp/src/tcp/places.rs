//! The places of connections, and the counters that they share.
//!
//! A connection is *unclaimed* until it is a leg's. At a limit, the oldest unclaimed connection is
//! evicted for the next one, of the same address where that one has its share. So nobody can keep
//! others out by holding connections open. Connections of legs keep their places.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::statistics::{Counts, TcpEvent};
use super::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, QUEUES_MAX, UNCLAIMED_MIN, UNCLAIMED_PER_ADDRESS_MAX};

/// The counters that connections share: their places, and the bytes in their queues.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    places: Mutex<Places>,
    /// Bytes that wait in queues.
    pub(super) waiting: AtomicUsize,
    pub(super) counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Places {
    all: usize,
    by_address: HashMap<IpAddr, Share>,
    /// By number, so the oldest first.
    unclaimed: BTreeMap<u64, Unclaimed>,
    given: u64,
}

/// The places of one address.
#[derive(Debug, Default)]
struct Share {
    all: usize,
    unclaimed: BTreeSet<u64>,
}

#[derive(Debug)]
struct Unclaimed {
    address: IpAddr,
    since: Instant,
    stream: Arc<TcpStream>,
}

/// A connection's place among those that there may be. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) shared: Arc<Shared>,
    number: u64,
    address: IpAddr,
    is_claimed: AtomicBool,
}

impl Shared {
    /// A place for one more connection from an address, if there is one, or if an unclaimed
    /// connection is old enough to be evicted.
    pub(super) fn place(self: &Arc<Self>, now: Instant, from: IpAddr, stream: &Arc<TcpStream>) -> Option<Place> {
        let address = block(from);
        let mut places = locked(&self.places);
        places.make_room(now, address)?;
        places.given += 1;
        let number = places.given;
        let unclaimed = Unclaimed {
            address,
            since: now,
            stream: stream.clone(),
        };
        places.unclaimed.insert(number, unclaimed);
        let share = places.by_address.entry(address).or_default();
        share.all += 1;
        share.unclaimed.insert(number);
        places.all += 1;
        self.counts.set_connections(places.all);
        Some(Place {
            shared: self.clone(),
            number,
            address,
            is_claimed: AtomicBool::new(false),
        })
    }

    /// Whether queues may take more.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < QUEUES_MAX
    }
}

impl Places {
    /// Makes room for one more of an address, if there may be.
    fn make_room(&mut self, now: Instant, address: IpAddr) -> Option<()> {
        let share = self.by_address.get(&address);
        if let Some(share) = share
            && (share.all >= CONNECTIONS_PER_ADDRESS_MAX || share.unclaimed.len() >= UNCLAIMED_PER_ADDRESS_MAX)
        {
            let oldest = *share.unclaimed.first()?;
            self.evict(now, oldest)?;
        }
        if self.all >= CONNECTIONS_MAX {
            let oldest = *self.unclaimed.first_key_value()?.0;
            self.evict(now, oldest)?;
        }
        Some(())
    }

    /// Evicts an unclaimed connection, if it is old enough. Its reader learns of that as of an end
    /// by the other side.
    fn evict(&mut self, now: Instant, number: u64) -> Option<()> {
        let unclaimed = self.unclaimed.get(&number)?;
        if now.saturating_duration_since(unclaimed.since) < UNCLAIMED_MIN {
            return None;
        }
        let unclaimed = self.unclaimed.remove(&number)?;
        // An error means that it has ended already.
        let _ = unclaimed.stream.shutdown(Shutdown::Both);
        self.leave(number, unclaimed.address);
        Some(())
    }

    fn leave(&mut self, number: u64, address: IpAddr) {
        self.all -= 1;
        if let Some(share) = self.by_address.get_mut(&address) {
            share.all -= 1;
            share.unclaimed.remove(&number);
            if share.all == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Place {
    /// Whether the connection is a leg's, or was.
    pub(super) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Relaxed)
    }

    /// The connection is a leg's, and keeps its place from now on.
    pub(super) fn claim(&self) {
        if self.is_claimed() {
            return;
        }
        let mut places = locked(&self.shared.places);
        if places.unclaimed.remove(&self.number).is_some() {
            self.is_claimed.store(true, Ordering::Relaxed);
            if let Some(share) = places.by_address.get_mut(&self.address) {
                share.unclaimed.remove(&self.number);
            }
        }
    }

    /// Why the connection has ended, if it seems to be for this reason.
    pub(super) fn reason(&self, seeming: TcpEvent) -> TcpEvent {
        let keeps = self.is_claimed() || locked(&self.shared.places).unclaimed.contains_key(&self.number);
        if keeps { seeming } else { TcpEvent::TooMany }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = locked(&self.shared.places);
        if places.unclaimed.remove(&self.number).is_some() || self.is_claimed() {
            places.leave(self.number, self.address);
        }
        self.shared.counts.set_connections(places.all);
    }
}

/// The addresses that share their places: an IPv4 address alone, or an IPv6 network of 64 bits.
fn block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
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
    fn an_address_has_a_share_of_the_places() {
        let (shared, stream, now) = (Arc::<Shared>::default(), stream(), Instant::now());
        let place = |from: &str| shared.place(now + UNCLAIMED_MIN, from.parse().unwrap(), &stream);
        let mut held = Vec::new();
        for host in 0..CONNECTIONS_PER_ADDRESS_MAX {
            let place = place(&format!("2001:db8::{host:x}")).expect("one more");
            place.claim();
            held.push(place);
        }
        assert!(place("2001:db8::1").is_none(), "the network is full");
        assert!(place("2001:db8:0:1::1").is_some(), "another network");
        assert!(place("192.0.2.1").is_some());
        held.pop();
        assert!(place("2001:db8::1").is_some(), "a place is free again");
        drop(held);
        assert_eq!(locked(&shared.places).all, 0);
        assert!(locked(&shared.places).by_address.is_empty());
    }

    #[test]
    fn the_oldest_unclaimed_connection_of_an_address_gives_way() {
        let (shared, stream, now) = (Arc::<Shared>::default(), stream(), Instant::now());
        let place = |now, from: &str| shared.place(now, from.parse().unwrap(), &stream);
        let held: Vec<Place> = (0..UNCLAIMED_PER_ADDRESS_MAX)
            .filter_map(|_| place(now, "192.0.2.1"))
            .collect();
        assert_eq!(held.len(), UNCLAIMED_PER_ADDRESS_MAX);
        assert!(place(now, "192.0.2.1").is_none(), "all are new");
        assert!(place(now, "192.0.2.2").is_some());
        held[0].claim();
        let next = place(now, "192.0.2.1").expect("the first is claimed");
        let later = now + UNCLAIMED_MIN;
        let last = place(later, "192.0.2.1").expect("the second is old");
        assert_eq!(held[0].reason(TcpEvent::Ended), TcpEvent::Ended);
        assert_eq!(held[1].reason(TcpEvent::Ended), TcpEvent::TooMany);
        assert_eq!(locked(&shared.places).all, UNCLAIMED_PER_ADDRESS_MAX + 1);
        drop((held, next, last));
        assert_eq!(locked(&shared.places).all, 0);
        assert!(locked(&shared.places).unclaimed.is_empty());
    }
}
