//! A store in this process: for one machine alone, and for simulations.
//!
//! Its time is what the given clock says, so a simulation decides when leases end. [`Faults`] make
//! it fail as a real store fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time;

use crate::entry::Entry;
use crate::memory::state::State;
use crate::memory::tail::{Reader, Tail};
use crate::store::{Claim, DEADLINE, Lease, Store, StoreError, Swap};
use crate::store::{check_entry, check_key, check_prefix, check_ttl};
use crate::watch::{Change, Watch};

pub use state::JOURNAL_MAX;

mod state;
mod tail;
#[cfg(test)]
mod tests;

/// The most watches at a time.
pub const WATCHES_MAX: usize = 1024;

/// The time between two looks for leases that ended, of a store on the machine's clock.
const SWEEP: Duration = Duration::from_millis(50);

/// Faults of a store in memory. The default has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Calls fail with [`StoreError::Unavailable`], and watches are silent until it ends.
    pub unavailable: bool,
    /// The time before a call takes effect. One of at least [`DEADLINE`] fails with
    /// [`StoreError::TimedOut`] after it took effect.
    pub delay: Duration,
    /// `get` and `list` answer what was there when this was set.
    pub stale_reads: bool,
}

type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// A store in memory.
pub struct Memory {
    shared: Arc<Mutex<Shared>>,
    clock: Clock,
}

#[derive(Default)]
struct Shared {
    state: State,
    faults: Faults,
    stale: Option<State>,
    tails: Vec<Weak<Tail>>,
}

impl Memory {
    /// An empty store whose time is what `clock` returns, since any fixed moment.
    pub fn new(clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            shared: Arc::default(),
            clock: Box::new(clock),
        }
    }

    /// An empty store on the machine's clock, which ends leases by itself.
    ///
    /// Panics outside of a tokio runtime.
    pub fn timed() -> Self {
        let start = time::Instant::now();
        let store = Self::new(move || start.elapsed());
        let shared = Arc::downgrade(&store.shared);
        tokio::spawn(async move {
            while let Some(shared) = shared.upgrade() {
                lock(&shared).expire(start.elapsed());
                drop(shared);
                time::sleep(SWEEP).await;
            }
        });
        store
    }

    /// Ends the leases whose time is over. Every call does so first. Watchers of a store that
    /// nobody calls depend on this.
    pub fn expire(&self) {
        lock(&self.shared).expire((self.clock)());
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        let mut shared = lock(&self.shared);
        shared.stale = match (faults.stale_reads, shared.stale.take()) {
            (true, None) => Some(shared.state.clone()),
            (true, stale) => stale,
            (false, _) => None,
        };
        shared.faults = faults;
        shared.wake();
    }

    /// Undoes all since `moment` on the store's clock, as a failover to a copy that lags does. At
    /// most the last [`JOURNAL_MAX`](crate::JOURNAL_MAX) writes are undone.
    pub fn forget_since(&self, moment: Duration) {
        let mut shared = lock(&self.shared);
        shared.state.forget_since(moment);
        shared.miss();
    }

    /// Ends a lease before its time.
    pub fn lose(&self, lease: Lease) {
        let mut shared = lock(&self.shared);
        let changes = shared.state.revoke(lease.id, (self.clock)());
        shared.tell(changes);
    }

    /// Runs a call: waits as long as the faults say, ends leases, and answers.
    async fn call<T>(
        &self,
        run: impl FnOnce(&mut Shared, Duration) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let delay = lock(&self.shared).faults.delay;
        if !delay.is_zero() {
            time::sleep(delay.min(DEADLINE)).await;
        }
        let mut shared = lock(&self.shared);
        if shared.faults.unavailable {
            return Err(StoreError::Unavailable("a fault is set".into()));
        }
        let now = (self.clock)();
        shared.expire(now);
        let answer = run(&mut shared, now);
        if delay >= DEADLINE {
            Err(StoreError::TimedOut)
        } else {
            answer
        }
    }
}

impl Shared {
    fn expire(&mut self, now: Duration) {
        let changes = self.state.expire(now);
        self.tell(changes);
    }

    fn tell(&mut self, changes: Vec<Change>) {
        self.tails.retain(|tail| tail.strong_count() > 0);
        for tail in self.tails.iter().filter_map(Weak::upgrade) {
            changes.iter().for_each(|change| tail.take(change));
        }
    }

    fn miss(&mut self) {
        for tail in self.tails.iter().filter_map(Weak::upgrade) {
            tail.miss();
        }
    }

    fn wake(&self) {
        for tail in self.tails.iter().filter_map(Weak::upgrade) {
            tail.wake();
        }
    }

    fn read(&self) -> &State {
        self.stale.as_ref().unwrap_or(&self.state)
    }
}

#[async_trait]
impl Store for Memory {
    async fn grant(&self, ttl: Duration) -> Result<Lease, StoreError> {
        check_ttl(ttl)?;
        self.call(|shared, now| Ok(shared.state.grant(ttl, now))).await
    }

    async fn keep_alive(&self, lease: Lease) -> Result<(), StoreError> {
        self.call(|shared, now| shared.state.keep_alive(lease, now)).await
    }

    async fn revoke(&self, lease: Lease) -> Result<(), StoreError> {
        let run = |shared: &mut Shared, now| {
            let changes = shared.state.revoke(lease.id, now);
            shared.tell(changes);
            Ok(())
        };
        self.call(run).await
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        check_key(key)?;
        self.call(|shared, _| Ok(shared.read().get(key))).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        check_prefix(prefix)?;
        self.call(|shared, _| shared.read().list(prefix)).await
    }

    async fn claim(&self, key: &str, value: Bytes, lease: Option<Lease>) -> Result<Claim, StoreError> {
        check_entry(key, &value)?;
        let run = |shared: &mut Shared, now| {
            if let Some(entry) = shared.state.get(key) {
                return Ok(Claim::Taken(entry));
            }
            let (revision, changes) = shared.state.put(key, value, lease, now)?;
            shared.tell(changes);
            Ok(Claim::Won { revision })
        };
        self.call(run).await
    }

    async fn swap(&self, key: &str, expected: u64, value: Bytes, lease: Option<Lease>) -> Result<Swap, StoreError> {
        check_entry(key, &value)?;
        let run = |shared: &mut Shared, now| match shared.state.get(key) {
            None => Ok(Swap::Gone),
            Some(entry) if entry.revision != expected => Ok(Swap::Taken(entry)),
            Some(_) => {
                let (revision, changes) = shared.state.put(key, value, lease, now)?;
                shared.tell(changes);
                Ok(Swap::Won { revision })
            }
        };
        self.call(run).await
    }

    async fn delete(&self, key: &str, expected: u64) -> Result<Swap, StoreError> {
        check_key(key)?;
        let run = |shared: &mut Shared, now| match shared.state.get(key) {
            None => Ok(Swap::Gone),
            Some(entry) if entry.revision != expected => Ok(Swap::Taken(entry)),
            Some(_) => {
                let (revision, changes) = shared.state.delete(key, now);
                shared.tell(changes);
                Ok(Swap::Won { revision })
            }
        };
        self.call(run).await
    }

    async fn watch(&self, prefix: &str) -> Result<Watch, StoreError> {
        check_prefix(prefix)?;
        let mut shared = lock(&self.shared);
        shared.tails.retain(|tail| tail.strong_count() > 0);
        if shared.tails.len() == WATCHES_MAX {
            return Err(StoreError::TooLong(format!("more than {WATCHES_MAX} watches")));
        }
        let tail = Arc::new(Tail::new(prefix));
        shared.tails.push(Arc::downgrade(&tail));
        Ok(Watch::new(Reader {
            shared: self.shared.clone(),
            tail,
        }))
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
