//! One suite of behaviour, for a store in memory, in a real etcd and in a real Redis.

mod access;
mod servers;
mod suite;
mod watches;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stores::{Change, Store, Watch};

use crate::servers::{Kind, Server};

/// Runs a check against each store whose server is installed.
macro_rules! for_each_store {
    ($($module:ident::$name:ident),* $(,)?) => { $(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_memory() {
                let store = Arc::new(stores::Memory::timed());
                $module::$name(store).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_etcd() {
                if let Some(server) = Server::start(Kind::Etcd).await {
                    $module::$name(server.store()).await;
                }
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_redis() {
                if let Some(server) = Server::start(Kind::Redis).await {
                    $module::$name(server.store()).await;
                }
            }
        }
    )* };
}

for_each_store! {
    suite::one_of_fifty_claims_wins,
    suite::a_swap_needs_the_revision_of_now,
    suite::a_lease_that_ends_takes_its_keys_along,
    suite::a_revoked_lease_takes_its_keys_along,
    suite::ten_thousand_keys_are_listed_in_order,
    suite::what_is_too_long_is_refused,
    watches::changes_arrive_in_order_after_all_that_is_there,
    watches::a_slow_watcher_is_told_all_again,
}

mod a_server_that_stops_is_found_again {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn in_etcd() {
        if let Some(server) = Server::start(Kind::Etcd).await {
            watches::a_server_that_stops_is_found_again(server).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn in_redis() {
        if let Some(server) = Server::start(Kind::Redis).await {
            watches::a_server_that_stops_is_found_again(server).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_forgot_all_resets_its_watches() {
    if let Some(server) = Server::start(Kind::Redis).await {
        watches::data_that_is_lost_resets(server).await;
    }
}

/// Waits at most ten seconds for the watched entries to be the store's.
async fn converge(store: &Arc<dyn Store>, watch: &mut Watch, seen: &mut BTreeMap<String, u64>, key: &str) -> usize {
    let mut resets = 0;
    let until = async {
        loop {
            match watch.next().await.expect("the store is there") {
                Change::Put(key, entry) => drop(seen.insert(key, entry.revision)),
                Change::Deleted(key) => drop(seen.remove(&key)),
                Change::Reset(all) => {
                    resets += 1;
                    *seen = all.into_iter().map(|(key, entry)| (key, entry.revision)).collect();
                }
            }
            if seen.contains_key(key) {
                let there = store.list("").await.expect("a list");
                let there: BTreeMap<_, _> = there.into_iter().map(|(key, entry)| (key, entry.revision)).collect();
                if there == *seen {
                    return;
                }
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), until)
        .await
        .expect("it converges");
    resets
}
