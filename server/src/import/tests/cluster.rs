//! LiveKit's Redis as the store of a cluster.

use serde_json::{Value, json};

use super::{import, imported, served};

const KEYS: &str = "keys: {APIabc: 0123456789abcdef0123456789abcdef}\n";

/// The section of the store, and the keys with a note.
fn store(redis: &str) -> (Value, Vec<String>) {
    let (weir, notes) = imported(&format!("redis: {redis}"));
    (weir["cluster"]["store"].clone(), notes)
}

#[test]
fn a_server_of_redis_becomes_the_store() {
    let livekit = "redis: {address: 'redis.host:6379', username: weir, password: '0123', db: 3, use_tls: true}\n\
                   region: eu-west\n";
    let text = import(&format!("{KEYS}{livekit}")).unwrap().text();
    let cluster = served(&text).cluster.expect("a cluster");
    assert_eq!(cluster.region.as_deref(), Some("eu-west"));
    assert_eq!(cluster.secrets.as_deref(), Some("/etc/weir/cluster/secrets".as_ref()));
    let (weir, notes) = imported(livekit);
    let expected = json!({
        "address": "redis.host:6379", "username": "weir", "password": "0123", "db": 3, "use_tls": true,
    });
    assert_eq!(weir["cluster"]["store"], json!({"redis": expected}));
    assert_eq!(notes, ["redis"]);
    assert!(text.contains("weir cluster-cert /etc/weir/cluster"), "{text}");
}

#[test]
fn sentinels_become_the_store_and_defaults_are_left_out() {
    let redis = "{address: 'other:6379', sentinel_master_name: main, sentinel_addresses: ['a:26379', 'b:26379'], \
                 sentinel_username: weir, sentinel_password: secret, username: '', db: 0, use_tls: false, \
                 cluster_addresses: []}";
    let expected = json!({
        "sentinel_master_name": "main", "sentinel_addresses": ["a:26379", "b:26379"],
        "sentinel_username": "weir", "sentinel_password": "secret",
    });
    let notes = ["redis", "redis.address"].map(str::to_owned).to_vec();
    assert_eq!(store(redis), (json!({"redis": expected}), notes));
}

#[test]
fn redis_without_a_usable_server_is_no_store_and_the_reason_is_said() {
    for (redis, note) in [
        (
            "{cluster_addresses: ['a:6379', 'b:6379'], address: 'a:6379'}",
            "redis.cluster_addresses",
        ),
        ("{sentinel_addresses: ['a:26379']}", "redis.sentinel_addresses"),
        ("{sentinel_master_name: main}", "redis"),
        (
            "{sentinel_master_name: main, sentinel_addresses: 'a:26379'}",
            "redis.sentinel_addresses",
        ),
        ("{address: 6379}", "redis.address"),
        ("localhost", "redis"),
    ] {
        let (weir, notes) = imported(&format!("region: eu-west\nredis: {redis}"));
        assert_eq!(weir, json!({}), "{redis}");
        assert!(
            notes.contains(&note.to_owned()) && notes.contains(&"region".to_owned()),
            "{redis}: {notes:?}"
        );
    }
    for redis in ["{}", "{address: '', username: '', db: 0, use_tls: false}"] {
        assert_eq!(store(redis), (Value::Null, vec![]), "{redis}");
    }
}

#[test]
fn values_of_another_form_are_named_and_left_out() {
    let redis = "{address: 'a:6379', password: 123, db: main, use_tls: 1, dial_timeout: 100, pool_size: 5, pasword: x}";
    let (store, mut notes) = store(redis);
    assert_eq!(store, json!({"redis": {"address": "a:6379"}}));
    notes.sort();
    assert_eq!(
        notes,
        [
            "redis",
            "redis.db",
            "redis.dial_timeout",
            "redis.password",
            "redis.pasword",
            "redis.pool_size",
            "redis.use_tls",
        ]
    );
}
