//! Watches, and what they say after a failure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stores::{CHANGES_MAX, Change, Claim, Store, Swap};
use tokio::time::{Instant, timeout};

use crate::converge;
use crate::servers::Server;

const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) async fn changes_arrive_in_order_after_all_that_is_there(store: Arc<dyn Store>) {
    store.claim("w/a", "0".into(), None).await.expect("an answer");
    store.claim("x", "0".into(), None).await.expect("an answer");
    let mut watch = store.watch("w/").await.expect("a watch");
    let first = timeout(PATIENCE, watch.next()).await.expect("in time");
    assert!(matches!(first, Some(Change::Reset(all)) if all.len() == 1 && all[0].0 == "w/a"));
    let Claim::Won { mut revision } = store.claim("w/b", "0".into(), None).await.expect("an answer") else {
        panic!("it is absent")
    };
    let mut expected = vec![revision];
    for nth in 0..100 {
        store
            .claim(&format!("y/{nth}"), "0".into(), None)
            .await
            .expect("an answer");
        let swap = store
            .swap("w/b", revision, format!("{nth}").into(), None)
            .await
            .expect("an answer");
        let Swap::Won { revision: next } = swap else {
            panic!("nobody wrote it")
        };
        revision = next;
        expected.push(revision);
    }
    store.delete("w/b", revision).await.expect("an answer");
    for revision in expected {
        let change = timeout(PATIENCE, watch.next()).await.expect("in time");
        assert!(
            matches!(&change, Some(Change::Put(key, entry)) if key == "w/b" && entry.revision == revision),
            "{change:?}"
        );
    }
    assert_eq!(
        timeout(PATIENCE, watch.next()).await.expect("in time"),
        Some(Change::Deleted("w/b".into()))
    );
}

pub(crate) async fn a_slow_watcher_is_told_all_again(store: Arc<dyn Store>) {
    let mut watch = store.watch("").await.expect("a watch");
    let mut seen = BTreeMap::new();
    store.claim("first", "0".into(), None).await.expect("an answer");
    converge(&store, &mut watch, &mut seen, "first").await;
    for nth in 0..CHANGES_MAX + 500 {
        store
            .claim(&format!("{nth:05}"), "0".into(), None)
            .await
            .expect("an answer");
    }
    store.claim("last", "0".into(), None).await.expect("an answer");
    assert_eq!(converge(&store, &mut watch, &mut seen, "last").await, 1);
}

pub(crate) async fn a_server_that_stops_is_found_again(mut server: Server) {
    let store = server.store();
    let mut watch = store.watch("").await.expect("a watch");
    let mut seen = BTreeMap::new();
    store.claim("before", "0".into(), None).await.expect("an answer");
    converge(&store, &mut watch, &mut seen, "before").await;

    server.signal("-STOP");
    let start = Instant::now();
    store.get("before").await.expect_err("it is stopped");
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    server.signal("-CONT");
    recovers(&server, &mut watch, &mut seen, "continued").await;

    server.restart(false);
    recovers(&server, &mut watch, &mut seen, "restarted").await;
    assert!(seen.contains_key("before"));
}

pub(crate) async fn data_that_is_lost_resets(mut server: Server) {
    let store = server.store();
    let mut watch = store.watch("").await.expect("a watch");
    let mut seen = BTreeMap::new();
    store.claim("before", "0".into(), None).await.expect("an answer");
    converge(&store, &mut watch, &mut seen, "before").await;
    server.restart(true);
    assert!(recovers(&server, &mut watch, &mut seen, "after").await > 0);
    assert!(!seen.contains_key("before"));
}

/// Writes a key as soon as the store answers, which has to be within five seconds.
async fn recovers(server: &Server, watch: &mut stores::Watch, seen: &mut BTreeMap<String, u64>, key: &str) -> usize {
    let store = server.store();
    timeout(PATIENCE, server.ready()).await.expect("it recovers in time");
    store.claim(key, "0".into(), None).await.expect("an answer");
    converge(&store, watch, seen, key).await
}
