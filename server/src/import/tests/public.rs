//! Configurations of LiveKit as people publish them, with names and secrets replaced.

use super::{import, served};

const KEYS: &str = "keys: {APIabc: 0123456789abcdef0123456789abcdef}\n";

/// Each is served, with these keys in comments, and with media at this port.
const PUBLIC: [(&str, &str, &[&str], u16); 10] = [
    (
        "made by the generator of deployments",
        "port: 7880
bind_addresses: ['']
rtc: {tcp_port: 7881, port_range_start: 50000, port_range_end: 60000, use_external_ip: true,
      enable_loopback_candidate: false}
redis: {address: 'localhost:6379', username: '', password: '', db: 0, use_tls: false}
turn: {enabled: true, domain: turn.example.com, tls_port: 5349, udp_port: 3478, external_tls: true}
",
        &[
            "redis",
            "rtc.enable_loopback_candidate",
            "rtc.port_range_start",
            "turn.tls_port",
        ],
        50_000,
    ),
    (
        "values of a Helm chart",
        "port: 7880
log_level: info
rtc: {use_external_ip: true, port_range_start: 50000, port_range_end: 60000, tcp_port: 7881}
redis: {}
turn: {enabled: false}
",
        &["rtc.port_range_start"],
        50_000,
    ),
    (
        "a container for development",
        "port: 7880
rtc: {udp_port: 7882, tcp_port: 7881, use_external_ip: false}
",
        &[],
        7882,
    ),
    (
        "beside a Matrix homeserver",
        "port: 7880
bind_addresses: ['0.0.0.0']
rtc: {tcp_port: 7881, port_range_start: 50100, port_range_end: 50200, use_external_ip: false}
room: {auto_create: false}
logging: {level: info}
turn: {enabled: false, domain: localhost, cert_file: '', key_file: '', tls_port: 5349, udp_port: 443,
       external_tls: true}
",
        &["rtc.port_range_start"],
        50_100,
    ),
    (
        "with ingress and webhooks",
        "rtc: {udp_port: 7882}
ingress: {rtmp_base_url: 'rtmp://live.example.com:1935/x', whip_base_url: 'https://live.example.com/w'}
webhook: {api_key: APIabc, urls: ['https://app.example.com/livekit/webhook']}
",
        &["ingress"],
        7882,
    ),
    (
        "with a list of codecs",
        "rtc: {udp_port: 7882}
room: {empty_timeout: 300, max_participants: 20, enabled_codecs: [{mime: audio/opus}, {mime: video/vp8}]}
",
        &["room.enabled_codecs"],
        7882,
    ),
    (
        "with Prometheus",
        "prometheus_port: 6789
log_level: debug
rtc: {udp_port: 7882}
audio: {active_level: 30}
",
        &["audio", "prometheus_port"],
        7882,
    ),
    (
        "one of several nodes",
        "region: eu-west
node_selector: {kind: any, sort_by: random}
rtc: {port_range_start: 50000, port_range_end: 50000}
redis: {sentinel_master_name: main}
",
        &["node_selector", "redis", "region"],
        50_000,
    ),
    (
        "with certificates for TURN",
        "rtc: {udp_port: 7882}
turn: {enabled: true, domain: turn.example.com, cert_file: /etc/turn.crt, key_file: /etc/turn.key, tls_port: 5349}
",
        &[],
        7882,
    ),
    ("the shortest one", "rtc: {udp_port: 443}\n", &[], 443),
];

#[test]
fn public_configurations_are_served() {
    for (what, livekit, notes, port) in PUBLIC {
        let imported = import(&format!("{KEYS}{livekit}")).unwrap_or_else(|error| panic!("{what}: {error}"));
        let config = served(&imported.text());
        assert_eq!(config.rtc.dataplane.ports.first(), port, "{what}");
        let mut said: Vec<&str> = imported.notes.iter().map(|(key, _)| key.as_str()).collect();
        said.sort_unstable();
        assert_eq!(said, notes, "{what}");
    }
}
