//! Users, compaction, Sentinels, and configurations that make no store.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_saphyr::from_str;
use stores::{Claim, Config, EtcdConfig, RedisConfig, StoreError, open};

use crate::converge;
use crate::servers::{Kind, Server, etcdctl, redis, sentinel};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_of_etcd_outlives_the_token() {
    let Some(server) = Server::start_with(Kind::Etcd, &["--auth-token-ttl", "1"]).await else {
        return;
    };
    for arguments in [
        &["user", "add", "root:secret"][..],
        &["user", "grant-role", "root", "root"],
        &["auth", "enable"],
    ] {
        if !etcdctl(server.port, arguments) {
            return;
        }
    }
    let store = server.store();
    assert!(matches!(
        store.get("k").await,
        Err(StoreError::Refused(_) | StoreError::Malformed(_))
    ));
    let mut config = EtcdConfig {
        endpoints: vec!["http://127.0.0.1:1".into(), format!("http://127.0.0.1:{}", server.port)],
        username: Some("root".into()),
        password: Some("wrong".into()),
        ..EtcdConfig::default()
    };
    let wrong = open(&Config::Etcd(config.clone())).expect("a store");
    let refused = wrong.get("k").await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    config.password = Some("secret".into());
    let store = open(&Config::Etcd(config)).expect("a store");
    for key in ["a", "b"] {
        let claim = store.claim(key, "1".into(), None).await;
        assert!(matches!(claim, Ok(Claim::Won { .. })), "{claim:?}");
        tokio::time::sleep(Duration::from_millis(2500)).await;
    }
    assert_eq!(store.list("").await.expect("a list").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_outlives_the_compaction_of_etcd() {
    let Some(server) = Server::start(Kind::Etcd).await else {
        return;
    };
    let store = server.store();
    let mut watch = store.watch("").await.expect("a watch");
    let mut seen = BTreeMap::new();
    store.claim("a", "1".into(), None).await.expect("an answer");
    converge(&store, &mut watch, &mut seen, "a").await;
    server.signal("-STOP");
    tokio::time::sleep(Duration::from_millis(3500)).await;
    server.signal("-CONT");
    server.ready().await;
    let Claim::Won { revision } = store.claim("b", "1".into(), None).await.expect("an answer") else {
        panic!("it is absent")
    };
    if !etcdctl(server.port, &["compact", &revision.to_string()]) {
        return;
    }
    store.claim("c", "1".into(), None).await.expect("an answer");
    assert!(converge(&store, &mut watch, &mut seen, "c").await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_lead_to_the_new_master() {
    let Some(mut server) = Server::start(Kind::Redis).await else {
        return;
    };
    let Some(replica) = Server::start_with(Kind::Redis, &["--replicaof", "127.0.0.1", &server.port.to_string()]).await
    else {
        return;
    };
    let Some(sentinel) = sentinel(server.port).await else {
        return;
    };
    let store = open(&Config::Redis(RedisConfig {
        sentinel_master_name: Some("calls".into()),
        sentinel_addresses: vec!["127.0.0.1:1".into(), format!("127.0.0.1:{}", sentinel.port)],
        ..RedisConfig::default()
    }))
    .expect("a store");
    let mut watch = store.watch("").await.expect("a watch");
    let mut seen = BTreeMap::new();
    store.claim("a", "1".into(), None).await.expect("an answer");
    converge(&store, &mut watch, &mut seen, "a").await;
    // The Sentinel learns of the replica from the master, and the replica of the entry.
    let replica_port = replica.port.to_string();
    for _ in 0..100 {
        let known = redis(sentinel.port, &["SENTINEL", "replicas", "calls"]);
        let role = redis(replica.port, &["INFO", "replication"]);
        let copied = redis(replica.port, &["EXISTS", "{weir}:v:a"]);
        let has_entry = role.contains("master_link_status:up") && copied.trim() == "1";
        if known.contains(&replica_port) && has_entry {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    server.stop();
    let mut claim = store.claim("b", "1".into(), None).await;
    for _ in 0..100 {
        if claim.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        claim = store.claim("b", "1".into(), None).await;
    }
    assert!(matches!(claim, Ok(Claim::Won { .. })), "{claim:?}");
    assert!(converge(&store, &mut watch, &mut seen, "b").await > 0);
    assert!(seen.contains_key("a"));
}

#[tokio::test]
async fn a_configuration_that_makes_no_store_is_refused_in_its_words() {
    for (text, word) in [
        ("etcd: {}", "endpoints"),
        ("etcd: {endpoints: [\"127.0.0.1:1\"]}", "http://"),
        ("etcd: {endpoints: [\"https://127.0.0.1:1\"]}", "`ca`"),
        ("etcd: {endpoints: [\"http://127.0.0.1:1\"], username: a}", "password"),
        ("redis: {address: nowhere}", "host:port"),
        ("redis: {cluster_addresses: [\"a:1\"]}", "cluster_addresses"),
        ("redis: {sentinel_master_name: a}", "sentinel_addresses"),
        ("redis: {address: \"a:1\", prefix: \"{}\"}", "prefix"),
        ("redis: {address: \"a:1\", deadline_ms: 0}", "deadline_ms"),
    ] {
        let config: Config = from_str(text).expect("it has the form");
        let Err(error) = open(&config) else {
            panic!("{text} makes a store")
        };
        assert!(error.to_string().contains(word), "{text}: {error}");
    }
    for text in ["memory", "redis: {address: \"127.0.0.1:1\", use_tls: true, db: 3}"] {
        assert!(open(&from_str(text).expect("it has the form")).is_ok(), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_without_tls_or_with_a_password_is_an_error() {
    let Some(server) = Server::start(Kind::Redis).await else {
        return;
    };
    let mut config = RedisConfig {
        address: format!("127.0.0.1:{}", server.port),
        use_tls: true,
        ..RedisConfig::default()
    };
    let store = open(&Config::Redis(config.clone())).expect("a store");
    let answer = store.get("k").await;
    let failed = matches!(answer, Err(StoreError::Unavailable(_) | StoreError::TimedOut));
    assert!(failed, "{answer:?}");
    redis(server.port, &["CONFIG", "SET", "requirepass", "secret"]);
    config.use_tls = false;
    config.password = Some("wrong".into());
    let store = open(&Config::Redis(config.clone())).expect("a store");
    let answer = store.get("k").await;
    assert!(matches!(answer, Err(StoreError::Refused(_))), "{answer:?}");
    config.password = Some("secret".into());
    let store = open(&Config::Redis(config)).expect("a store");
    assert_eq!(store.get("k").await.expect("an answer"), None);
}
