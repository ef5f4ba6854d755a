//! The store of the cluster, with its calls counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use stores::{Claim, Config, Entry, Lease, OpenError, Store, StoreError, Swap, Watch};

use crate::metrics::Metrics;
use crate::metrics::cluster::StoreCall;

/// A store whose calls are counted by operation and outcome.
pub(crate) struct CountedStore {
    store: Arc<dyn Store>,
    metrics: Metrics,
    /// The lease whose loss was counted last: several calls may find the same one gone.
    lost: AtomicI64,
}

/// Makes the store of a configuration, which counts its calls.
///
/// Errors: the configuration contradicts itself, or names files that cannot be read.
///
/// Panics outside of a tokio runtime.
pub(crate) fn open(config: &Config, metrics: &Metrics) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(CountedStore::new(stores::open(config)?, metrics.clone())))
}

impl CountedStore {
    /// Counts the calls of a store.
    pub(crate) fn new(store: Arc<dyn Store>, metrics: Metrics) -> Self {
        Self {
            store,
            metrics,
            lost: AtomicI64::new(0),
        }
    }

    fn count<T>(&self, call: StoreCall, lease: Option<Lease>, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let is_lost = matches!(answer, Err(StoreError::LeaseLost));
        let id = lease.map_or(0, |lease| lease.id);
        let is_news = is_lost && self.lost.swap(id, Ordering::Relaxed) != id;
        self.metrics.of_cluster(|counts| {
            counts.call(call, &answer);
            if is_news {
                counts.lease_lost();
            }
        });
        answer
    }
}

#[async_trait]
impl Store for CountedStore {
    async fn grant(&self, ttl: Duration) -> Result<Lease, StoreError> {
        self.count(StoreCall::Grant, None, self.store.grant(ttl).await)
    }

    async fn keep_alive(&self, lease: Lease) -> Result<(), StoreError> {
        self.count(StoreCall::KeepAlive, Some(lease), self.store.keep_alive(lease).await)
    }

    async fn revoke(&self, lease: Lease) -> Result<(), StoreError> {
        self.count(StoreCall::Revoke, Some(lease), self.store.revoke(lease).await)
    }

    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        self.count(StoreCall::Get, None, self.store.get(key).await)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<(String, Entry)>, StoreError> {
        self.count(StoreCall::List, None, self.store.list(prefix).await)
    }

    async fn claim(&self, key: &str, value: Bytes, lease: Option<Lease>) -> Result<Claim, StoreError> {
        self.count(StoreCall::Claim, lease, self.store.claim(key, value, lease).await)
    }

    async fn swap(&self, key: &str, expected: u64, value: Bytes, lease: Option<Lease>) -> Result<Swap, StoreError> {
        let answer = self.store.swap(key, expected, value, lease).await;
        self.count(StoreCall::Swap, lease, answer)
    }

    async fn delete(&self, key: &str, expected: u64) -> Result<Swap, StoreError> {
        self.count(StoreCall::Delete, None, self.store.delete(key, expected).await)
    }

    async fn watch(&self, prefix: &str) -> Result<Watch, StoreError> {
        self.count(StoreCall::Watch, None, self.store.watch(prefix).await)
    }
}

#[cfg(test)]
mod tests {
    use stores::{Faults, Memory};

    use super::*;

    fn has(metrics: &Metrics, line: &str) {
        let text = metrics.encode().finish();
        assert!(text.contains(line), "{line} in {text}");
    }

    #[tokio::test]
    async fn a_lost_lease_is_counted_once_however_many_calls_find_it() {
        let metrics = Metrics::default();
        let memory = Arc::new(Memory::timed());
        let store = CountedStore::new(memory.clone(), metrics.clone());
        for _ in 0..2 {
            let lease = store.grant(Duration::from_secs(1)).await.unwrap();
            memory.lose(lease);
            for key in ["a", "b"] {
                let claimed = store.claim(key, Bytes::new(), Some(lease)).await;
                assert!(matches!(claimed, Err(StoreError::LeaseLost)));
            }
            assert!(store.keep_alive(lease).await.is_err());
        }
        has(&metrics, "weir_store_leases_lost_total 2\n");
        has(
            &metrics,
            "weir_store_calls_total{operation=\"claim\",outcome=\"lease_lost\"} 4\n",
        );
        memory.set_faults(Faults {
            unavailable: true,
            ..Faults::default()
        });
        assert!(store.get("a").await.is_err());
        has(
            &metrics,
            "weir_store_calls_total{operation=\"get\",outcome=\"unavailable\"} 1\n",
        );
    }
}
