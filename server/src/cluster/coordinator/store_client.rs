//! Requests to the cluster's store, and its news of members.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use cluster::{MEMBERS_PREFIX, MemberChange, RequestId, StoreAnswer, StoreOperation, StoredValue};
use stores::{Change, Claim, Entry, Lease, Store, StoreError, Swap};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::warn;

use super::Event;

/// Requests that are with the store at the same time.
const REQUESTS_MAX: usize = 128;

/// The pause before members are watched again.
const WATCH_AGAIN: Duration = Duration::from_millis(250);

/// The store, as a controller asks it. Everything that is written is bound to one lease.
pub(super) struct StoreClient {
    shared: Arc<Shared>,
    /// Aborted when this is dropped.
    tasks: JoinSet<()>,
}

struct Shared {
    store: Arc<dyn Store>,
    ttl: Duration,
    lease: Mutex<Option<Lease>>,
    places: Semaphore,
    events: mpsc::Sender<Event>,
}

impl StoreClient {
    /// Watches the members from now on.
    pub(super) fn new(store: Arc<dyn Store>, ttl: Duration, events: mpsc::Sender<Event>) -> Self {
        let shared = Arc::new(Shared {
            store,
            ttl,
            lease: Mutex::default(),
            places: Semaphore::new(REQUESTS_MAX),
            events,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(watch(shared.clone()));
        Self { shared, tasks }
    }

    /// Asks the store. The answer is an event.
    pub(super) fn ask(&mut self, request: RequestId, operation: StoreOperation) {
        while self.tasks.try_join_next().is_some() {}
        let shared = self.shared.clone();
        self.tasks.spawn(async move {
            // An error means that the process ends.
            let Ok(_place) = shared.places.acquire().await else {
                return;
            };
            let answer = shared.perform(operation).await;
            let _ = shared.events.send(Event::Store { request, answer }).await;
        });
    }

    /// Ends the lease, and with it all that was written.
    pub(super) async fn revoke(&mut self) {
        let lease = self.shared.lease();
        if let Some(lease) = lease
            && let Err(error) = self.shared.store.revoke(lease).await
        {
            warn!(%error, "the store ends the lease of this controller later");
        }
    }
}

impl Shared {
    fn lease(&self) -> Option<Lease> {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_lease(&self, lease: Option<Lease>) {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = lease;
    }

    async fn perform(&self, operation: StoreOperation) -> StoreAnswer {
        match self.try_perform(operation).await {
            Ok(answer) => answer,
            Err(StoreError::LeaseLost) => {
                self.set_lease(None);
                StoreAnswer::LeaseLost
            }
            Err(error) => {
                warn!(%error, "the store");
                StoreAnswer::Failed
            }
        }
    }

    async fn try_perform(&self, operation: StoreOperation) -> Result<StoreAnswer, StoreError> {
        let store = &*self.store;
        Ok(match operation {
            StoreOperation::GrantLease => {
                self.set_lease(Some(store.grant(self.ttl).await?));
                StoreAnswer::Done
            }
            StoreOperation::KeepAlive => {
                store.keep_alive(self.lease().ok_or(StoreError::LeaseLost)?).await?;
                StoreAnswer::Done
            }
            StoreOperation::Read { key } => StoreAnswer::Entry(store.get(&key).await?.map(stored)),
            StoreOperation::Claim { key, value } => {
                let lease = self.lease().ok_or(StoreError::LeaseLost)?;
                match store.claim(&key, Bytes::from(value), Some(lease)).await? {
                    Claim::Won { revision } => StoreAnswer::Won { revision },
                    Claim::Taken(entry) => StoreAnswer::Taken(stored(entry)),
                }
            }
            StoreOperation::Swap { key, revision, value } => {
                let lease = self.lease().ok_or(StoreError::LeaseLost)?;
                swapped(store.swap(&key, revision, Bytes::from(value), Some(lease)).await?)
            }
            StoreOperation::Delete { key, revision } => swapped(store.delete(&key, revision).await?),
        })
    }
}

fn stored(entry: Entry) -> StoredValue {
    StoredValue {
        value: entry.value.to_vec(),
        revision: entry.revision,
    }
}

fn swapped(swap: Swap) -> StoreAnswer {
    match swap {
        Swap::Won { revision } => StoreAnswer::Won { revision },
        Swap::Taken(entry) => StoreAnswer::Taken(stored(entry)),
        Swap::Gone => StoreAnswer::Gone,
    }
}

/// Tells of the members until the process ends.
async fn watch(shared: Arc<Shared>) {
    loop {
        match shared.store.watch(MEMBERS_PREFIX).await {
            Ok(mut changes) => {
                while let Some(change) = changes.next().await {
                    for change in member_changes(change) {
                        if shared.events.send(Event::Member(change)).await.is_err() {
                            return;
                        }
                    }
                }
            }
            Err(error) => warn!(%error, "the members of the cluster are not known"),
        }
        sleep(WATCH_AGAIN).await;
    }
}

fn member_changes(change: Change) -> Vec<MemberChange> {
    let put = |(key, entry): (String, Entry)| MemberChange::Put {
        key,
        value: entry.value.to_vec(),
    };
    match change {
        Change::Put(key, entry) => vec![put((key, entry))],
        Change::Deleted(key) => vec![MemberChange::Deleted { key }],
        Change::Reset(entries) => {
            let all = entries.into_iter().map(put);
            let all = std::iter::once(MemberChange::Reset).chain(all);
            all.chain([MemberChange::Complete]).collect()
        }
    }
}
