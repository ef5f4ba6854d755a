//! Faults of a store in memory, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::memory::{Faults, Memory};
use crate::store::{Claim, Store, StoreError};
use crate::watch::Change;

const TTL: Duration = Duration::from_secs(5);

/// A store, and its clock in milliseconds.
fn store() -> (Memory, Arc<AtomicU64>) {
    let clock = Arc::new(AtomicU64::new(0));
    let read = clock.clone();
    let store = Memory::new(move || Duration::from_millis(read.load(Ordering::Relaxed)));
    (store, clock)
}

#[tokio::test]
async fn a_lease_ends_at_its_time_and_not_before() {
    let (store, clock) = store();
    let lease = store.grant(TTL).await.expect("a lease");
    store.claim("k", "1".into(), Some(lease)).await.expect("an answer");
    clock.store(4_999, Ordering::Relaxed);
    store.keep_alive(lease).await.expect("it lives");
    clock.store(9_998, Ordering::Relaxed);
    assert!(store.get("k").await.expect("an answer").is_some());
    let mut watch = store.watch("").await.expect("a watch");
    assert!(matches!(watch.next().await, Some(Change::Reset(all)) if all.len() == 1));
    clock.store(9_999, Ordering::Relaxed);
    store.expire();
    assert_eq!(watch.next().await, Some(Change::Deleted("k".into())));
    assert!(matches!(store.keep_alive(lease).await, Err(StoreError::LeaseLost)));
}

#[tokio::test]
async fn a_failover_forgets_writes_and_leases_since_a_moment() {
    let (store, clock) = store();
    let old = store.grant(TTL).await.expect("a lease");
    let kept = store.claim("old", "1".into(), Some(old)).await.expect("an answer");
    let Claim::Won { revision } = kept else {
        panic!("it is absent")
    };
    clock.store(1_000, Ordering::Relaxed);
    let new = store.grant(TTL).await.expect("a lease");
    store.claim("new", "1".into(), Some(new)).await.expect("an answer");
    store.delete("old", revision).await.expect("an answer");
    let mut watch = store.watch("").await.expect("a watch");
    watch.next().await.expect("all there is");
    store.forget_since(Duration::from_secs(1));
    let Some(Change::Reset(all)) = watch.next().await else {
        panic!("all again")
    };
    assert_eq!((all.len(), all[0].0.as_str(), all[0].1.revision), (1, "old", revision));
    assert!(matches!(store.keep_alive(new).await, Err(StoreError::LeaseLost)));
    // The entry that is back is bound to its lease again.
    store.lose(old);
    assert_eq!(watch.next().await, Some(Change::Deleted("old".into())));
}

#[tokio::test(start_paused = true)]
async fn faults_fail_calls_and_end_again() {
    let (store, _) = store();
    store.set_faults(Faults {
        unavailable: true,
        ..Faults::default()
    });
    assert!(matches!(store.get("k").await, Err(StoreError::Unavailable(_))));
    store.set_faults(Faults {
        delay: Duration::from_secs(60),
        ..Faults::default()
    });
    assert!(matches!(
        store.claim("k", "1".into(), None).await,
        Err(StoreError::TimedOut)
    ));
    store.set_faults(Faults {
        stale_reads: true,
        ..Faults::default()
    });
    store.claim("l", "1".into(), None).await.expect("an answer");
    assert_eq!(store.get("l").await.expect("an answer"), None);
    store.set_faults(Faults::default());
    assert_eq!(store.list("").await.expect("a list").len(), 2);
}
