//! The places of connections, and the counters that they share.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::statistics::Counts;
use super::{CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, QUEUES_MAX};

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
    by_address: HashMap<IpAddr, usize>,
}

/// A connection's place among those that there may be. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) shared: Arc<Shared>,
    address: IpAddr,
}

impl Shared {
    /// A place for one more connection from an address, if there is one.
    pub(super) fn place(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let address = block(from);
        let mut places = locked(&self.places);
        if places.all >= CONNECTIONS_MAX {
            return None;
        }
        let share = places.by_address.entry(address).or_insert(0);
        if *share >= CONNECTIONS_PER_ADDRESS_MAX {
            return None;
        }
        *share += 1;
        places.all += 1;
        self.counts.set_connections(places.all);
        Some(Place {
            shared: self.clone(),
            address,
        })
    }

    /// Whether queues may take more.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < QUEUES_MAX
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = locked(&self.shared.places);
        places.all -= 1;
        if let Some(share) = places.by_address.get_mut(&self.address) {
            *share -= 1;
            if *share == 0 {
                places.by_address.remove(&self.address);
            }
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
    use super::*;

    #[test]
    fn an_address_has_a_share_of_the_places() {
        let shared: Arc<Shared> = Arc::default();
        let place = |from: &str| shared.place(from.parse().unwrap());
        let mut held: Vec<Place> = (0..CONNECTIONS_PER_ADDRESS_MAX)
            .map(|host| place(&format!("2001:db8::{host:x}")).expect("one more"))
            .collect();
        assert!(place("2001:db8::1").is_none(), "the network is full");
        assert!(place("2001:db8:0:1::1").is_some(), "another network");
        assert!(place("192.0.2.1").is_some());
        held.pop();
        assert!(place("2001:db8::1").is_some(), "a place is free again");
        drop(held);
        assert_eq!(locked(&shared.places).all, 0);
        assert!(locked(&shared.places).by_address.is_empty());
    }
}
