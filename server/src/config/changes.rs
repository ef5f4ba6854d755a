//! Differences between two configuration files, and which of them wait for a restart.

use serde_json::Value;

/// Settings that are taken over while the switch runs, with everything below them.
const RELOADED: [&str; 20] = [
    "cluster.ca",
    "cluster.capacity",
    "cluster.certificate",
    "cluster.key",
    "cluster.move_within",
    "cluster.pinned",
    "cluster.region",
    "cluster.regions",
    "drain_timeout",
    "key_file",
    "key_rooms",
    "keys",
    "limits",
    "log.level",
    "metrics",
    "quotas",
    "room.watch",
    "tls.certificates",
    "trusted_proxies",
    "webhook",
];

/// Of those, the ones that are not.
const KEPT: [&str; 1] = ["limits.request_timeout"];

/// The settings in which two files differ, as their dotted names.
pub(crate) fn changes(before: &Value, after: &Value) -> Vec<String> {
    let mut names = Vec::new();
    compare("", before, after, &mut names);
    names
}

/// Whether a setting of this name takes effect without a restart.
pub(crate) fn is_reloaded(name: &str) -> bool {
    let is_in = |list: &[&str]| {
        let mut entries = list.iter();
        entries.any(|entry| {
            name.strip_prefix(entry)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    is_in(&RELOADED) && !is_in(&KEPT)
}

fn compare(name: &str, before: &Value, after: &Value, names: &mut Vec<String>) {
    if before == after {
        return;
    }
    let empty = serde_json::Map::new();
    let map = |value: &'_ Value| value.as_object().cloned();
    let maps = match (map(before), map(after)) {
        (Some(before), Some(after)) => Some((before, after)),
        (Some(before), None) if after.is_null() => Some((before, empty)),
        (None, Some(after)) if before.is_null() => Some((empty, after)),
        _ => None,
    };
    let Some((before, after)) = maps.filter(|(before, after)| !before.is_empty() || !after.is_empty()) else {
        return names.push(name.to_owned());
    };
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let name = if name.is_empty() {
            key.clone()
        } else {
            format!("{name}.{key}")
        };
        let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        compare(&name, &of(&before), &of(&after), names);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_setting_that_differs_is_named() {
        let before = json!({"port": 1, "rtc": {"port": 2, "node_ip": ["a"]}, "sip": {"ng": {"tcp": "x"}}, "log": {"level": "info"}});
        let after = json!({"port": 1, "rtc": {"port": 3, "node_ip": ["a"]}, "log": {"level": "debug", "json": true}});
        let names = changes(&before, &after);
        assert_eq!(names, ["log.json", "log.level", "rtc.port", "sip.ng.tcp"]);
        let reloaded: Vec<_> = names.iter().filter(|name| is_reloaded(name)).collect();
        assert_eq!(reloaded, ["log.level"]);
        assert_eq!(changes(&Value::Null, &before).len(), 5);
        assert!(changes(&before, &before).is_empty());
    }

    #[test]
    fn keys_and_limits_are_taken_over() {
        for name in [
            "keys.a",
            "key_file",
            "limits.connections",
            "metrics.token",
            "drain_timeout",
            "quotas.keys.a.rooms",
            "tls.certificates",
            "trusted_proxies",
        ] {
            assert!(is_reloaded(name), "{name}");
        }
        for name in [
            "limits.request_timeout",
            "keysets",
            "log.json",
            "port",
            "sip.allow",
            "tls.port",
        ] {
            assert!(!is_reloaded(name), "{name}");
        }
    }
}
