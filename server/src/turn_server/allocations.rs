//! The limits on allocations, for each user, for each address and in all.
//!
//! An allocation from whose peers nothing has come for a while is of no use, and gives way to the
//! next one if there is no other place. If all are in use, the user with the most gives way to one
//! with fewer. So nobody keeps others out by holding allocations.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use turn::Refusal;

/// How many allocations there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// In all.
    pub all: usize,
    /// From one IPv4 address or network of IPv6.
    pub per_address: usize,
    /// Of one user (RFC 8656 section 7.2). A browser has one for each address of the server,
    /// network of its own and connection, and all of them twice while it restarts ICE.
    pub per_user: usize,
}

pub(super) const LIMITS: Limits = Limits {
    all: 4_096,
    per_address: 256,
    per_user: 32,
};

/// How long nothing has come from the peers of an allocation that gives way to any other. Media
/// answers the checks of a participant, which come every few seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// Hands out places. Cheap to clone.
#[derive(Clone)]
pub(super) struct Allocations(Arc<Shared>);

struct Shared {
    began: Instant,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    given: u64,
    all: HashMap<u64, Entry>,
    users: HashMap<String, BTreeSet<u64>>,
    addresses: HashMap<IpAddr, BTreeSet<u64>>,
}

struct Entry {
    user: String,
    address: IpAddr,
    heard: Arc<AtomicU64>,
    evicted: Arc<Notify>,
}

/// The place of one allocation, until it is dropped.
pub(super) struct Share {
    allocations: Allocations,
    number: u64,
    /// When something last came from a peer, or else when the place was taken, in milliseconds.
    heard: Arc<AtomicU64>,
}

impl Allocations {
    /// None of them is taken.
    pub(super) fn new(limits: Limits, now: Instant) -> Self {
        Allocations(Arc::new(Shared {
            began: now,
            limits,
            state: Mutex::default(),
        }))
    }

    /// One more allocation of a user from an address, if there may be. `evicted` is notified when
    /// it has to end. Credentials that were renewed are still those of the same user.
    pub(super) fn enter(
        &self,
        name: &str,
        address: IpAddr,
        now: Instant,
        evicted: &Arc<Notify>,
    ) -> Result<Share, Refusal> {
        let user = name.split_once(':').map_or(name, |(_, user)| user);
        let (limits, now) = (self.0.limits, self.millis(now));
        let mut state = self.locked();
        if let Some(own) = state.users.get(user).filter(|own| own.len() >= limits.per_user) {
            let silent = state.silent(own, now).ok_or(Refusal::Quota)?;
            state.evict(silent);
        }
        let address = slots::address_block(address);
        if let Some(here) = state.addresses.get(&address)
            && here.len() >= limits.per_address
        {
            let victim = state.victim(here, user, now).ok_or(Refusal::NoPort)?;
            state.evict(victim);
        }
        if state.all.len() >= limits.all {
            let fullest = state.addresses.values().max_by_key(|there| there.len());
            let victim = fullest.and_then(|there| state.victim(there, user, now));
            state.evict(victim.ok_or(Refusal::NoPort)?);
        }
        state.given += 1;
        let number = state.given;
        let heard = Arc::new(AtomicU64::new(now));
        state.users.entry(user.to_owned()).or_default().insert(number);
        state.addresses.entry(address).or_default().insert(number);
        let entry = Entry {
            user: user.to_owned(),
            address,
            heard: heard.clone(),
            evicted: evicted.clone(),
        };
        state.all.insert(number, entry);
        Ok(Share {
            allocations: self.clone(),
            number,
            heard,
        })
    }

    fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.0.began).as_millis() as u64
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The allocation that gives way to one more of a user, among those of an address.
    fn victim(&self, here: &BTreeSet<u64>, user: &str, now: u64) -> Option<u64> {
        self.silent(here, now).or_else(|| {
            let mut users: HashMap<&str, Vec<u64>> = HashMap::new();
            for number in here {
                users.entry(&self.all[number].user).or_default().push(*number);
            }
            let own = users.get(user).map_or(0, Vec::len);
            let (_, most) = users.into_iter().max_by_key(|(_, numbers)| numbers.len())?;
            let oldest = most.iter().copied().min_by_key(|number| (self.heard(*number), *number));
            oldest.filter(|_| most.len() > own + 1)
        })
    }

    /// The one that has been silent for the longest time, if that is long enough.
    fn silent(&self, among: &BTreeSet<u64>, now: u64) -> Option<u64> {
        let oldest = among.iter().copied().min_by_key(|number| self.heard(*number))?;
        (now.saturating_sub(self.heard(oldest)) >= SILENCE.as_millis() as u64).then_some(oldest)
    }

    fn heard(&self, number: u64) -> u64 {
        self.all[&number].heard.load(Ordering::Relaxed)
    }

    fn evict(&mut self, number: u64) {
        if let Some(entry) = self.remove(number) {
            entry.evicted.notify_one();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Entry> {
        let entry = self.all.remove(&number)?;
        if let Some(own) = self.users.get_mut(&entry.user) {
            own.remove(&number);
            if own.is_empty() {
                self.users.remove(&entry.user);
            }
        }
        if let Some(here) = self.addresses.get_mut(&entry.address) {
            here.remove(&number);
            if here.is_empty() {
                self.addresses.remove(&entry.address);
            }
        }
        Some(entry)
    }
}

impl Share {
    /// Something came from a peer.
    pub(super) fn hear(&self, now: Instant) {
        self.heard.store(self.allocations.millis(now), Ordering::Relaxed);
    }

    /// Notifies another one from now on when the allocation has to end. False when it has had to
    /// already.
    pub(super) fn move_to(&self, evicted: &Arc<Notify>) -> bool {
        let mut state = self.allocations.locked();
        let entry = state.all.get_mut(&self.number);
        entry.map(|entry| entry.evicted = evicted.clone()).is_some()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.allocations.locked().remove(self.number);
    }
}

#[cfg(test)]
mod tests;
