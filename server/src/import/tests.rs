mod cluster;
mod public;

use super::*;
use crate::config::Config;

/// Has an imported configuration read as `weir serve` reads it.
fn served(text: &str) -> Config {
    let thread = std::thread::current().id();
    let file = std::env::temp_dir().join(format!("weir-import-{}-{thread:?}.yaml", std::process::id()));
    fs::write(&file, text).expect("it can be written");
    let arguments = cli::Serve {
        config: Some(file.clone()),
        ..cli::Serve::default()
    };
    let config = Config::load(&arguments);
    fs::remove_file(&file).expect("it was written");
    config.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_configuration_is_taken_over_and_can_be_served() {
    let livekit = "
port: 7890
bind_addresses: ['', 10.0.0.1, '::1']
keys:
  APIabc: 0123456789abcdef0123456789abcdef
  'on': 0123456789abcdef0123456789abcdef
logging: {level: debug, json: true, pion_level: error}
rtc:
  udp_port: 7882-7892
  tcp_port: 7881
  node_ip: 203.0.113.7
  congestion_control: {enabled: false, allow_pause: true}
room: {auto_create: false, departure_timeout: 30, max_participants: 0}
redis: {address: 'redis.host:6379'}
";
    let imported = import(livekit).unwrap();
    let config = served(&imported.text());
    assert_eq!(config.port, 7890);
    assert_eq!(
        config.bind,
        ["10.0.0.1".parse::<std::net::IpAddr>().unwrap(), "::1".parse().unwrap()]
    );
    assert_eq!(config.keys.len(), 2);
    assert_eq!((config.log.level.as_str(), config.log.json), ("debug", true));
    let dataplane = &config.rtc.dataplane;
    assert_eq!(
        (dataplane.ports.to_string().as_str(), dataplane.workers),
        ("7882-7892", 11)
    );
    assert_eq!(dataplane.tcp.map(|tcp| tcp.port), Some(7881));
    assert!(!config.rtc.adaptation);
    assert_eq!(
        config.rtc.node_ips,
        ["203.0.113.7".parse::<std::net::IpAddr>().unwrap()]
    );
    assert_eq!((config.room.auto_create, config.room.max_participants), (false, None));
    let notes: Vec<&str> = imported.notes.iter().map(|(key, _)| key.as_str()).collect();
    let expected = [
        "redis",
        "logging.pion_level",
        "rtc.congestion_control.allow_pause",
        "rtc.udp_port",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn ports_of_media_are_one_or_a_range() {
    let ports = |livekit: &str| {
        let imported = import(&format!("rtc: {{udp_port: {livekit}}}")).unwrap();
        let port = imported.weir.get("rtc").map(|rtc| rtc["port"].clone());
        (port, imported.notes.into_iter().next().map(|(_, note)| note))
    };
    assert_eq!(ports("7882"), (Some(serde_json::json!(7882)), None));
    assert_eq!(ports("'7882'"), (Some(serde_json::json!(7882)), None));
    let (range, note) = ports("7882-7885");
    assert_eq!(range, Some(serde_json::json!("7882-7885")));
    assert!(note.unwrap().contains("4 workers"));
    // More than there may be workers.
    let (first, note) = ports("50000-60000");
    assert_eq!(first, Some(serde_json::json!(50_000)));
    assert!(note.unwrap().contains("only port 50000"));
    for refused in ["0", "0-100", "[7882]"] {
        let (port, note) = ports(refused);
        assert!(port.is_none() && note.is_some(), "{refused}");
    }
}

#[test]
fn webhooks_are_taken_over() {
    let livekit = "
keys: {APIabc: 0123456789abcdef0123456789abcdef}
webhook:
  api_key: APIabc
  urls: ['https://app.example/hook', 'http://10.0.0.7:8080/']
  resource_url_notifier: {max_age: 1m30.5s, max_depth: 50}
  url_notifier: {num_workers: 3}
  filter_params: {exclude_events: [egress_updated, track_published]}
";
    let imported = import(livekit).unwrap();
    let settings = served(&imported.text()).webhook.settings();
    assert_eq!(settings.receivers.len(), 2);
    assert!(settings.receivers.iter().all(|receiver| receiver.key == "APIabc"));
    assert_eq!((settings.age_max.as_millis(), settings.depth_max), (90_500, 50));
    assert_eq!(settings.exclude, ["egress_updated", "track_published"]);
    let notes: Vec<&str> = imported.notes.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(notes, ["webhook.url_notifier"]);

    let wrong = "webhook: {urls: ['app.example/hook'], resource_url_notifier: {max_age: soon}}";
    let notes = import(wrong).unwrap().notes;
    let keys: Vec<&str> = notes.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["webhook.resource_url_notifier.max_age", "webhook.urls"]);
}

#[test]
fn unknown_settings_and_wrong_values_are_named() {
    let imported =
        import("prot: 1\nrtc: {udp_port: high, node_ip: {v4: 192.0.2.1}}\nroom: {max_participants: few}").unwrap();
    let keys: Vec<&str> = imported.notes.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["prot", "room.max_participants", "rtc.udp_port"]);
    assert_eq!(
        Value::Object(imported.weir),
        serde_json::json!({"rtc": {"node_ip": ["192.0.2.1"]}})
    );
}

#[test]
fn comments_cannot_be_left_and_nothing_else_is_a_configuration() {
    let text = import("\"a\\nport: 1\": 2").unwrap().text();
    assert!(
        text.lines().all(|line| line.is_empty() || line.starts_with('#')),
        "{text}"
    );
    assert!(import("- 1").is_err() && import("a: [").is_err());
    assert_eq!(import(" \n"), Ok(Imported::default()));
}

#[test]
fn the_table_of_keys_stands_in_the_documentation() {
    let documented = include_str!("../../../docs/use/moving.md");
    for Rule { key, weir, note, .. } in RULES {
        let weir = if weir.is_empty() {
            String::new()
        } else {
            format!("`{weir}`")
        };
        let row = format!("| `{key}` | {weir} | {note} |")
            .replace("|  |", "| |")
            .replace("|  |", "| |");
        assert!(documented.contains(&row), "docs/use/moving.md lacks this row:\n{row}");
    }
}

/// The configuration of Weir, and the keys with a note.
fn imported(livekit: &str) -> (Value, Vec<String>) {
    let imported = import(livekit).unwrap();
    let notes = imported.notes.into_iter().map(|(key, _)| key);
    (Value::Object(imported.weir), notes.collect())
}

#[test]
fn the_embedded_turn_server_becomes_weirs_own() {
    let keys = "keys: {APIabc: 0123456789abcdef0123456789abcdef}\n";
    let (weir, notes) = imported("turn: {enabled: true, udp_port: 3478, relay_range_start: 30000}");
    assert_eq!(weir, serde_json::json!({"turn": {"port": 3478}}));
    assert_eq!(notes, ["turn.relay_range_start"]);
    let livekit = "turn: {enabled: true, domain: turn.example.com, tls_port: 5349, udp_port: 3478, \
                   cert_file: /etc/turn.crt, key_file: /etc/turn.key}";
    let text = import(&format!("{keys}{livekit}")).unwrap().text();
    let config = served(&text);
    let (turn, tls) = (config.turn.unwrap(), config.tls.unwrap());
    assert_eq!(
        (turn.port, turn.tls, tls.port, tls.redirect),
        (Some(3478), true, 5349, false)
    );
    assert_eq!(turn.server.urls.len(), 3, "{text}");
    for off in ["{enabled: false, udp_port: 3478}", "{domain: turn.example.com}", "{}"] {
        assert_eq!(
            imported(&format!("turn: {off}")),
            (serde_json::json!({}), vec![]),
            "{off}"
        );
    }
    let (weir, notes) = imported("turn: {enabled: true, domain: a.example, tls_port: 443, external_tls: true}");
    assert_eq!((weir, notes), (serde_json::json!({}), vec!["turn.tls_port".to_owned()]));
}

#[test]
fn a_range_of_ports_becomes_the_ports_of_media() {
    let port = |rtc: &str| imported(&format!("rtc: {rtc}")).0["rtc"]["port"].clone();
    assert_eq!(port("{port_range_start: 50000, port_range_end: 60000}"), 50_000);
    assert_eq!(port("{port_range_start: 50000, port_range_end: 50003}"), "50000-50003");
    assert_eq!(port("{port_range_start: 50000}"), 50_000);
    assert_eq!(
        port("{udp_port: 0, port_range_start: 50000, port_range_end: 50000}"),
        50_000
    );
    assert_eq!(
        port("{udp_port: 7882, port_range_start: 50000, port_range_end: 60000}"),
        7882
    );
}

#[test]
fn parts_that_are_off_are_not_spoken_of() {
    let livekit = "ingress: {enabled: false}\nsip: {enabled: false}\nredis:\nagents: {}\n";
    assert_eq!(imported(livekit), (serde_json::json!({}), vec![]));
}
