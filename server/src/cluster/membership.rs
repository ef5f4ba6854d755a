//! The record of this media node in the store of its cluster.
//!
//! A task keeps the record there whatever the store does, under a lease that ends with the process.
//! The store may be slow, answer with what was, lose the lease, forget its last second, or be away
//! for minutes. Media do not depend on it: without the record a node only gets no new rooms.

mod twins;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::cluster::{MediaRecord, media_key};
use bytes::Bytes;
use southbound::NodeId;
use stores::{Claim, Lease, Store, StoreError, Swap, TTL_MIN};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::metrics::Metrics;
use twins::Twins;

/// The time that the record outlives a process that ended without a word.
const TTL: Duration = Duration::from_secs(5);

/// How long a call may take, also if the store's own deadline is longer: a node has to be back soon
/// after the store.
const CALL_MAX: Duration = Duration::from_secs(3);

/// The pause after a call that failed, and the least time between two leases.
const RETRY: Duration = Duration::from_secs(1);

/// How often the record is looked at. A store may forget it without a word.
const AUDIT_EVERY: Duration = Duration::from_secs(2);

/// How often the record is read anew before a write is given up for now.
const ATTEMPTS_MAX: usize = 3;

/// Whether the store has the record, as far as this machine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The store has never had it.
    Unreached,
    /// The store has it.
    Confirmed,
    /// The store had it, and has not said so since the last call failed.
    Unconfirmed,
}

/// A record that is kept in the store until this is dropped.
pub(crate) struct Membership {
    record: watch::Sender<MediaRecord>,
    standing: watch::Receiver<Standing>,
    leaving: oneshot::Sender<()>,
    keeping: JoinHandle<()>,
}

impl Membership {
    /// Enters a node into the store and keeps it there. A store that is away is no error.
    pub(crate) fn begin(store: Arc<dyn Store>, node: NodeId, record: MediaRecord, metrics: Metrics) -> Self {
        metrics.of_cluster(|counts| counts.set_registered(false));
        let (record, records) = watch::channel(record);
        let (told, standing) = watch::channel(Standing::Unreached);
        let (leaving, left) = oneshot::channel();
        let keeper = Keeper {
            store,
            key: media_key(node),
            records,
            standing: told,
            is_told: AtomicBool::new(false),
            metrics,
        };
        let keeping = tokio::spawn(keeper.run(left));
        Self {
            record,
            standing,
            leaving,
            keeping,
        }
    }

    /// The record. A change of it is written at once.
    pub(crate) fn record(&self) -> &watch::Sender<MediaRecord> {
        &self.record
    }

    /// Whether the store has the record.
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Takes the record out of the store, so that controllers learn at once of the node's end.
    /// Bounded in time.
    pub(crate) async fn leave(self) {
        // An error means that the task has ended.
        let _ = self.leaving.send(());
        let _ = self.keeping.await;
    }
}

/// The task that keeps the record.
struct Keeper {
    store: Arc<dyn Store>,
    key: String,
    records: watch::Receiver<MediaRecord>,
    standing: watch::Sender<Standing>,
    /// The log has said that the store does not confirm the record.
    is_told: AtomicBool,
    metrics: Metrics,
}

/// A revision of the record that was written under the lease there is.
#[derive(Clone, Debug)]
struct Written {
    value: Bytes,
    revision: u64,
}

impl Keeper {
    async fn run(self, left: oneshot::Receiver<()>) {
        let mut left = pin!(left);
        loop {
            let lease = tokio::select! {
                biased;
                _ = &mut left => return,
                lease = self.grant() => lease,
            };
            // A store that takes back each lease is not asked for one after the other.
            let mut pause = pin!(sleep(RETRY));
            tokio::select! {
                biased;
                _ = &mut left => return self.leave(lease).await,
                () = self.hold(lease) => self.lost(),
            }
            tokio::select! {
                biased;
                _ = &mut left => return,
                () = &mut pause => {}
            }
        }
    }

    /// Asks for a lease until there is one. One whose grant was not answered has nothing bound to
    /// it, and ends by itself.
    async fn grant(&self) -> Lease {
        loop {
            match within(self.store.grant(TTL)).await {
                Ok(lease) => return lease,
                Err(error) => self.failed(&error),
            }
            sleep(RETRY).await;
        }
    }

    /// Keeps the lease and the record until the store has the lease no more.
    async fn hold(&self, lease: Lease) {
        let twins = Twins::new(&*self.store, &self.key, self.records.clone(), &self.metrics);
        tokio::select! {
            () = self.keep_lease(lease) => {}
            () = self.keep_record(lease) => {}
            () = twins.look_out() => {}
        }
    }

    /// Prolongs the lease, whatever else the store is asked for meanwhile.
    async fn keep_lease(&self, lease: Lease) {
        let third = lease.ttl.clamp(TTL_MIN, TTL) / 3;
        let mut pause = third;
        loop {
            sleep(pause).await;
            pause = match within(self.store.keep_alive(lease)).await {
                Ok(()) => third,
                Err(StoreError::LeaseLost) => return,
                Err(error) => {
                    self.failed(&error);
                    third.min(RETRY)
                }
            };
        }
    }

    /// Writes the record as often as it changes, and where the store does not have it any more.
    async fn keep_record(&self, lease: Lease) {
        let mut records = self.records.clone();
        let mut written = None;
        loop {
            let record = records.borrow_and_update().clone();
            let value = Bytes::from(serde_json::to_vec(&record).unwrap_or_default());
            match self.write(&value, lease, written.as_ref()).await {
                Ok(now) => {
                    written = Some(now);
                    self.confirmed(&record);
                }
                Err(StoreError::LeaseLost) => return,
                Err(error) => {
                    // It may have been written all the same, with a revision that nobody said.
                    written = None;
                    self.failed(&error);
                    sleep(RETRY).await;
                    continue;
                }
            }
            // The time is over, or the record has changed.
            let _ = timeout(AUDIT_EVERY, records.changed()).await;
        }
    }

    /// Writes the record, unless the store has it as it was written before.
    async fn write(&self, value: &Bytes, lease: Lease, written: Option<&Written>) -> Result<Written, StoreError> {
        let written_before = |revision: u64, found: &Bytes| {
            let before = written.filter(|before| before.revision == revision && before.value == *value);
            before.filter(|before| before.value == *found).cloned()
        };
        if written.is_some_and(|before| before.value == *value)
            && let Some(entry) = within(self.store.get(&self.key)).await?
            && let Some(before) = written_before(entry.revision, &entry.value)
        {
            return Ok(before);
        }
        let changed = written.filter(|before| before.value != *value);
        let mut expected = changed.map(|before| before.revision);
        for _ in 0..ATTEMPTS_MAX {
            let found = match expected {
                None => match within(self.store.claim(&self.key, value.clone(), Some(lease))).await? {
                    Claim::Won { revision } => {
                        return Ok(Written {
                            value: value.clone(),
                            revision,
                        });
                    }
                    Claim::Taken(entry) => entry,
                },
                Some(revision) => {
                    match within(self.store.swap(&self.key, revision, value.clone(), Some(lease))).await? {
                        Swap::Won { revision } => {
                            return Ok(Written {
                                value: value.clone(),
                                revision,
                            });
                        }
                        Swap::Taken(entry) => entry,
                        Swap::Gone => {
                            expected = None;
                            continue;
                        }
                    }
                }
            };
            // The look found what was, and the record is there.
            if let Some(before) = written_before(found.revision, &found.value) {
                return Ok(before);
            }
            expected = Some(found.revision);
        }
        Err(StoreError::Unavailable(
            "another process writes the record of this node".into(),
        ))
    }

    fn confirmed(&self, record: &MediaRecord) {
        self.is_told.store(false, Ordering::Relaxed);
        if self.standing.send_replace(Standing::Confirmed) != Standing::Confirmed {
            let MediaRecord { name, address, .. } = record;
            info!(name, address, "the cluster's store has the record of this media node");
            self.metrics.of_cluster(|counts| counts.set_registered(true));
        }
    }

    fn failed(&self, error: &StoreError) {
        if self.stands_without_confirmation() {
            warn!(%error, "the cluster's store does not serve; media go on, and this node gets no new rooms meanwhile");
        }
    }

    fn lost(&self) {
        if self.stands_without_confirmation() {
            warn!("the cluster's store does not have the lease of this media node any more; it is entered anew");
        }
    }

    /// Returns whether the log has not said that yet.
    fn stands_without_confirmation(&self) -> bool {
        self.metrics.of_cluster(|counts| counts.set_registered(false));
        self.standing.send_if_modified(|standing| {
            let was_confirmed = *standing == Standing::Confirmed;
            if was_confirmed {
                *standing = Standing::Unconfirmed;
            }
            was_confirmed
        });
        !self.is_told.swap(true, Ordering::Relaxed)
    }

    async fn leave(&self, lease: Lease) {
        self.metrics.of_cluster(|counts| counts.set_registered(false));
        if let Err(error) = within(self.store.revoke(lease)).await {
            info!(%error, "the record of this media node stays in the store until its lease is over");
        }
    }
}

/// A call of the store, bounded in time.
async fn within<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    timeout(CALL_MAX, call).await.unwrap_or(Err(StoreError::TimedOut))
}

#[cfg(test)]
mod tests;
