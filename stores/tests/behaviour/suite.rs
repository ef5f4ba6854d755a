//! Leases, claims, swaps and lists.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stores::{Claim, KEY_MAX, Store, StoreError, Swap, VALUE_MAX};
use tokio::task::JoinSet;

const TTL: Duration = Duration::from_secs(1);

pub(crate) async fn one_of_fifty_claims_wins(store: Arc<dyn Store>) {
    let mut claims = JoinSet::new();
    for nth in 0..50 {
        let store = store.clone();
        claims.spawn(async move {
            store
                .claim("room/a", Bytes::from(format!("{nth}")), None)
                .await
                .expect("an answer")
        });
    }
    let outcomes = claims.join_all().await;
    let won: Vec<_> = outcomes
        .iter()
        .filter(|claim| matches!(claim, Claim::Won { .. }))
        .collect();
    assert_eq!(won.len(), 1);
    let entry = store.get("room/a").await.expect("an answer").expect("it is there");
    assert_eq!(
        *won[0],
        Claim::Won {
            revision: entry.revision
        }
    );
    let lost = outcomes
        .into_iter()
        .filter(|claim| *claim == Claim::Taken(entry.clone()));
    assert_eq!(lost.count(), 49);
}

pub(crate) async fn a_swap_needs_the_revision_of_now(store: Arc<dyn Store>) {
    let Claim::Won { revision: first } = store.claim("k", "1".into(), None).await.expect("an answer") else {
        panic!("it is absent")
    };
    let Swap::Won { revision: second } = store.swap("k", first, "2".into(), None).await.expect("an answer") else {
        panic!("nobody wrote it")
    };
    assert!(second > first);
    let now = store.get("k").await.expect("an answer").expect("it is there");
    assert_eq!((now.value.as_ref(), now.revision), (&b"2"[..], second));
    assert_eq!(
        store.swap("k", first, "3".into(), None).await.expect("an answer"),
        Swap::Taken(now.clone())
    );
    assert_eq!(store.delete("k", first).await.expect("an answer"), Swap::Taken(now));
    assert!(matches!(store.delete("k", second).await, Ok(Swap::Won { .. })));
    assert_eq!(store.delete("k", second).await.expect("an answer"), Swap::Gone);
    assert_eq!(
        store.swap("k", second, "4".into(), None).await.expect("an answer"),
        Swap::Gone
    );
}

pub(crate) async fn a_lease_that_ends_takes_its_keys_along(store: Arc<dyn Store>) {
    let lease = store.grant(TTL).await.expect("a lease");
    store.claim("bound", "1".into(), Some(lease)).await.expect("an answer");
    let Claim::Won { revision } = store.claim("freed", "1".into(), Some(lease)).await.expect("an answer") else {
        panic!("it is absent")
    };
    store
        .swap("freed", revision, "2".into(), None)
        .await
        .expect("an answer");
    // It lives on as long as it is kept alive.
    let step = lease.ttl / 2;
    for _ in 0..3 {
        tokio::time::sleep(step).await;
        store.keep_alive(lease).await.expect("it lives");
    }
    assert!(store.get("bound").await.expect("an answer").is_some());
    let mut watch = store.watch("bound").await.expect("a watch");
    let mut told = Vec::new();
    let ended = async {
        while !told.contains(&stores::Change::Deleted("bound".into())) {
            told.push(watch.next().await.expect("a change"));
        }
    };
    tokio::time::timeout(lease.ttl + Duration::from_secs(3), ended)
        .await
        .expect("the watch says so");
    assert_eq!(store.get("bound").await.expect("an answer"), None);
    assert!(store.get("freed").await.expect("an answer").is_some());
    assert!(matches!(store.keep_alive(lease).await, Err(StoreError::LeaseLost)));
    assert!(matches!(
        store.claim("late", "1".into(), Some(lease)).await,
        Err(StoreError::LeaseLost)
    ));
    store.revoke(lease).await.expect("it has ended");
}

pub(crate) async fn a_revoked_lease_takes_its_keys_along(store: Arc<dyn Store>) {
    let lease = store.grant(Duration::from_secs(60)).await.expect("a lease");
    for key in ["a", "b"] {
        store.claim(key, "1".into(), Some(lease)).await.expect("an answer");
    }
    store.revoke(lease).await.expect("an answer");
    assert_eq!(store.list("").await.expect("a list"), []);
    assert!(matches!(store.keep_alive(lease).await, Err(StoreError::LeaseLost)));
}

pub(crate) async fn ten_thousand_keys_are_listed_in_order(store: Arc<dyn Store>) {
    let mut writers = JoinSet::new();
    for part in 0..50 {
        let store = store.clone();
        writers.spawn(async move {
            for nth in 0..200 {
                let key = format!("many/{:05}", part * 200 + nth);
                store.claim(&key, "1".into(), None).await.expect("an answer");
            }
        });
    }
    store.claim("manz", "1".into(), None).await.expect("an answer");
    writers.join_all().await;
    let listed = store.list("many/").await.expect("a list");
    assert_eq!(listed.len(), 10_000);
    assert!(listed.is_sorted_by_key(|(key, _)| key.clone()));
}

pub(crate) async fn what_is_too_long_is_refused(store: Arc<dyn Store>) {
    let (key, value) = ("k".repeat(KEY_MAX), Bytes::from(vec![0xff; VALUE_MAX]));
    assert!(matches!(
        store.claim(&key, value.clone(), None).await,
        Ok(Claim::Won { .. })
    ));
    assert_eq!(
        store.get(&key).await.expect("an answer").expect("it is there").value,
        value
    );
    let long = Bytes::from(vec![0; VALUE_MAX + 1]);
    assert!(matches!(
        store.claim("k", long, None).await,
        Err(StoreError::TooLong(_))
    ));
    assert!(matches!(
        store.get(&format!("{key}k")).await,
        Err(StoreError::TooLong(_))
    ));
    assert!(matches!(store.get("").await, Err(StoreError::Malformed(_))));
    assert!(matches!(
        store.grant(Duration::ZERO).await,
        Err(StoreError::Malformed(_))
    ));
}
