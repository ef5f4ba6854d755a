//! `weir media` as a process, with a store of a cluster as others run it.

mod program;
mod servers;

use std::time::Duration;

use cluster::{MEDIA_PREFIX, MediaRecord};
use rustix::process::Signal;
use stores::Store;

use program::{Program, until};
use servers::{Kind, StoreServer};

/// How long after the return of its store a node has to be in it again.
const BACK_MAX: Duration = Duration::from_secs(5);

/// The only record of a media node, if there is one.
async fn record(store: &dyn Store) -> Option<MediaRecord> {
    let entries = store.list(MEDIA_PREFIX).await.ok()?;
    assert!(entries.len() < 2, "{entries:?}");
    let (_, entry) = entries.first()?;
    Some(serde_json::from_slice(&entry.value).expect("a record"))
}

/// Waits until there is a record like this, and returns how long it took.
async fn entered(store: &dyn Store, is_it: impl Fn(Option<&MediaRecord>) -> bool) -> Duration {
    until("the record", async || is_it(record(store).await.as_ref())).await
}

async fn is_in_the_store_while_it_runs(kind: Kind) {
    let Some(server) = StoreServer::start(kind).await else {
        return;
    };
    let store = server.store();
    let cluster = format!("region: north, capacity: 40, store: {}", server.setting());
    let mut node = Program::start(&cluster, "drain_timeout: 600\n");
    entered(&*store, |record| record.is_some()).await;
    let expected = MediaRecord {
        name: "one".to_owned(),
        address: node.address(),
        region: "north".to_owned(),
        capacity: 40,
        load: 0,
        draining: false,
        move_within: 60,
        oldest: 1,
        newest: 4,
        sip: String::new(),
        calls_only: false,
    };
    assert_eq!(record(&*store).await, Some(expected));
    for path in ["/healthz", "/livez"] {
        assert!(node.get(path).starts_with("HTTP/1.1 200 "), "{path}");
    }
    let ready = node.get("/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 503 ") && ready.ends_with("no controller is connected\n"),
        "{ready}"
    );
    for line in [
        "weir_registered 1",
        "weir_southbound_controllers 0",
        "weir_store_calls_total{operation=\"grant\",outcome=\"ok\"} 1",
    ] {
        assert!(node.get("/metrics").contains(&format!("\n{line}\n")), "{line}");
    }

    let cluster = format!("region: south, capacity: 50, store: {}", server.setting());
    node.reload(&cluster, "drain_timeout: 300\nlog: {level: debug}\n");
    entered(&*store, |record| {
        record.is_some_and(|record| record.region == "south" && record.capacity == 50)
    })
    .await;
    node.await_log("configuration reloaded").await;
    node.reload("region: south, capacity: 0", "");
    node.await_log("needs a `capacity` above 0").await;
    assert!(!node.log().contains("only a restart takes it over"), "{}", node.log());

    node.signal(Signal::TERM);
    assert!(node.await_end().await, "{}", node.log());
    assert!(node.log().contains("drained: everybody has left"), "{}", node.log());
    assert_eq!(record(&*store).await, None, "at once");
}

#[tokio::test]
async fn a_node_is_in_etcd_while_it_runs() {
    is_in_the_store_while_it_runs(Kind::Etcd).await;
}

#[tokio::test]
async fn a_node_is_in_redis_while_it_runs() {
    is_in_the_store_while_it_runs(Kind::Redis).await;
}

async fn outlives_its_store(kind: Kind) {
    let Some(mut server) = StoreServer::start(kind).await else {
        return;
    };
    server.stop();
    let node = Program::start(&format!("store: {}", server.setting()), "");
    node.await_log("the cluster's store does not serve").await;
    let ready = node.get("/readyz");
    assert!(ready.ends_with("the cluster's store was never reached\n"), "{ready}");
    for (round, forgets) in [false, true, false].into_iter().enumerate() {
        server.start_again(forgets).await;
        let took = entered(&*server.store(), |record| record.is_some()).await;
        assert!(took <= BACK_MAX, "{took:?}");
        until("it is confirmed", async || {
            node.get("/metrics").contains("\nweir_registered 1\n")
        })
        .await;
        assert!(node.get("/healthz").starts_with("HTTP/1.1 200 "), "{round}");
        server.stop();
        until("it is noticed", async || {
            node.get("/metrics").contains("\nweir_registered 0\n")
        })
        .await;
        assert!(node.get("/livez").starts_with("HTTP/1.1 200 "));
        assert!(node.get("/readyz").ends_with("no controller is connected\n"));
        // Longer than the lease.
        tokio::time::sleep(Duration::from_secs(6)).await;
    }
    server.start_again(false).await;
    // A server that does not answer is not one that refuses connections.
    server.signal("-STOP");
    tokio::time::sleep(Duration::from_secs(7)).await;
    server.signal("-CONT");
    let took = entered(&*server.store(), |record| record.is_some()).await;
    assert!(took <= BACK_MAX, "{took:?}");
}

#[tokio::test]
async fn a_node_outlives_etcd() {
    outlives_its_store(Kind::Etcd).await;
}

#[tokio::test]
async fn a_node_outlives_redis() {
    outlives_its_store(Kind::Redis).await;
}

#[tokio::test]
async fn a_node_that_is_killed_is_gone_with_its_lease() {
    let Some(server) = StoreServer::start(Kind::Etcd).await else {
        return;
    };
    let store = server.store();
    let mut node = Program::start(&format!("store: {}", server.setting()), "");
    entered(&*store, |record| record.is_some()).await;
    node.signal(Signal::KILL);
    assert!(!node.await_end().await);
    let took = entered(&*store, |record| record.is_none()).await;
    assert!(took <= Duration::from_secs(8), "{took:?}");
}

#[tokio::test]
async fn a_new_certificate_is_taken_without_a_signal() {
    let Some(server) = StoreServer::start(Kind::Redis).await else {
        return;
    };
    let node = Program::start(&format!("store: {}", server.setting()), "");
    node.make_certificates();
    node.await_log("the certificate of this machine in the cluster is replaced")
        .await;
    let metrics = node.get("/metrics");
    assert!(
        metrics.contains("\nweir_cluster_certificate_expiry_seconds 315"),
        "{metrics}"
    );
}

#[test]
fn a_node_does_not_start_without_a_store_that_others_reach() {
    for (cluster, part) in [
        ("", "cluster.store: `weir media` needs a store"),
        ("store: memory", "cluster.store: `weir media` needs a store"),
        (
            "store: {etcd: {}}",
            "cluster.store: cluster store: `etcd` needs at least one of `endpoints`",
        ),
        (
            "store: {etcd: {endpoint: a}}",
            "cluster.store.etcd.endpoint: there is no setting",
        ),
    ] {
        let checked = program::check(cluster);
        assert!(checked.contains(part), "{cluster}: {checked}");
    }
}
