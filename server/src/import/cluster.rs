//! LiveKit's Redis as the store of a cluster.

use serde_json::{Map, Value, json};

use super::Imported;

/// The files of a machine, as `weir cluster-cert /etc/weir/cluster` writes them.
const FILES: [(&str, &str); 4] = [
    ("cluster.ca", "/etc/weir/cluster/ca.pem"),
    ("cluster.certificate", "/etc/weir/cluster/weir.pem"),
    ("cluster.key", "/etc/weir/cluster/weir.key"),
    ("cluster.secrets", "/etc/weir/cluster/secrets"),
];

const COMMON: [&str; 4] = ["username", "password", "db", "use_tls"];
/// Those that are needed come first.
const SENTINELS: [&str; 4] = [
    "sentinel_master_name",
    "sentinel_addresses",
    "sentinel_username",
    "sentinel_password",
];

const TO_DO: &str = "a cluster needs the files that `cluster: {...}` names: `weir cluster-cert /etc/weir/cluster` writes \
                     them, once for all machines; one machine alone needs no store: remove `cluster` \
                     (docs/operate/cluster.md)";
const ON_ONE_SERVER: &str = "a Redis Cluster cannot be the store, whose keys are all on one server: name a server in \
                             `cluster: {store: {redis: {address: ...}}}`, or Sentinels";
const ABSENT: &str = "it has neither `address` nor `sentinel_addresses`, so it is no store";
const NO_MASTER: &str = "`sentinel_addresses` needs `sentinel_master_name`";
const DEADLINE: &str = "`cluster: {store: {redis: {deadline_ms: ...}}}` bounds every call";
const ONE_CONNECTION: &str = "Weir uses one connection, and one for each watch";

impl Imported {
    /// Takes over the sections `redis` and `region`, and removes what was taken over.
    pub(super) fn take_cluster(&mut self, livekit: &mut Map<String, Value>) {
        let Some(redis) = livekit.get("redis").and_then(Value::as_object) else {
            return;
        };
        self.take_redis(redis);
        livekit.remove("redis");
        let region = livekit.get("region").and_then(Value::as_str);
        if let Some(region) = region.filter(|_| self.weir.contains_key("cluster")) {
            if !region.is_empty() {
                self.set("cluster.region", json!(region));
            }
            livekit.remove("region");
        }
    }

    fn take_redis(&mut self, redis: &Map<String, Value>) {
        let has = |key: &str| redis.get(key).is_some_and(is_set);
        let way: &[&str] = match (has("sentinel_addresses"), has("cluster_addresses"), has("address")) {
            (true, ..) if !has("sentinel_master_name") => return self.note("redis.sentinel_addresses", NO_MASTER),
            (true, ..) => &SENTINELS,
            // LiveKit prefers them to an address.
            (false, true, _) => return self.note("redis.cluster_addresses", ON_ONE_SERVER),
            (false, false, true) => &["address"],
            (false, false, false) if redis.values().any(is_set) => return self.note("redis", ABSENT),
            (false, false, false) => return,
        };
        // Without these it is no store.
        for name in &way[..way.len().min(2)] {
            if let Err(why) = redis.get(*name).map_or(Ok(()), |value| form_of(name, value)) {
                return self.note(&format!("redis.{name}"), why);
            }
        }
        for (path, file) in FILES {
            self.set(path, json!(file));
        }
        self.note("redis", TO_DO);
        for (key, value) in redis.iter().filter(|(_, value)| is_set(value)) {
            let name = key.as_str();
            let is_other_way = name == "address" || name == "cluster_addresses" || SENTINELS.contains(&name);
            let why = match name {
                _ if way.contains(&name) || COMMON.contains(&name) => match form_of(name, value) {
                    Ok(()) => {
                        self.set(&format!("cluster.store.redis.{name}"), value.clone());
                        continue;
                    }
                    Err(why) => why,
                },
                _ if is_other_way => "the other way to Redis is used, as in LiveKit",
                "dial_timeout" | "read_timeout" | "write_timeout" | "pool_timeout" => DEADLINE,
                "pool_size" => ONE_CONNECTION,
                _ => "there is no such setting",
            };
            self.note(&format!("redis.{key}"), why);
        }
    }
}

/// Whether a value is not the one that LiveKit has by default.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(section) => !section.is_empty(),
        other => *other != 0,
    }
}

/// Whether Weir can take a value.
///
/// Errors: the form that is expected.
fn form_of(key: &str, value: &Value) -> Result<(), &'static str> {
    let (is_right, why) = match key {
        "db" => (value.is_u64(), "its value is no number of a database"),
        "use_tls" => (value.is_boolean(), "its value is neither true nor false"),
        "sentinel_addresses" => (
            value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            "its value is no list of addresses",
        ),
        _ => (value.is_string(), "its value is no text: write it in quotes"),
    };
    if is_right { Ok(()) } else { Err(why) }
}
