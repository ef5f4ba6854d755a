//! Errors of files, as their writers read them.

use super::super::{ConfigError, File, SECRETS};
use super::{line_of, read, schema};

/// The errors of a file, each as `LINE: SETTING: MESSAGE`.
fn faults(text: &str) -> Vec<String> {
    let faults = read::<File>(text, &SECRETS).faults;
    let lines = faults.iter().map(|fault| {
        let key = fault.key.as_deref().unwrap_or("-");
        format!("{}: {key}: {}", fault.line, fault.message)
    });
    lines.collect()
}

/// Texts with the error of each.
const FAULTS: [(&str, &str); 41] = [
    (
        "port: 10m",
        "1: port: `10m` is given, and a whole number from 0 to 65535 is expected: write the number alone, without a unit",
    ),
    (
        "port: 70000",
        "1: port: `70000` is given, and a whole number from 0 to 65535 is expected",
    ),
    (
        "port: -5",
        "1: port: `-5` is given, and a whole number from 0 to 65535 is expected",
    ),
    (
        "port: [1]",
        "1: port: a list is given, and a whole number from 0 to 65535 is expected: write it without a dash and without brackets",
    ),
    (
        "port: {a: 1}",
        "1: port: a section of settings is given, and a whole number from 0 to 65535 is expected: write one value",
    ),
    (
        "port: 7880\n  rtc: 1",
        "2: port: a second `: ` stands in this setting: indent the line as the others of its section, or put the text in quotes",
    ),
    (
        "port: 78\n  80",
        "1: port: `78 80` is given, and a whole number from 0 to 65535 is expected: lines 1 to 2 are one value, because the later ones are indented more",
    ),
    (
        "bind: 0.0.0.0",
        "1: bind: `0.0.0.0` is given, and a list is expected: write [0.0.0.0]",
    ),
    (
        "bind: [10.0.0.300]",
        "1: bind: `10.0.0.300` is given: an address is written \"192.0.2.1\" or \"2001:db8::1\"",
    ),
    (
        "bind:\n  - 10.0.0.1\n  - 10.0.0",
        "3: bind: `10.0.0` is given: an address is written \"192.0.2.1\" or \"2001:db8::1\"",
    ),
    (
        "trusted_proxies: 10.0.0.0/8",
        "1: trusted_proxies: `10.0.0.0/8` is given, and a list is expected: write [10.0.0.0/8]",
    ),
    (
        "trusted_proxies: [10.0.0.0/33]",
        "1: trusted_proxies: `10.0.0.0/33` is given: a network is written \"10.0.0.0/8\", or as one address",
    ),
    (
        "webhook: {urls: 'http://a/'}",
        "1: webhook.urls: a text is given, and a list is expected: write a line `- ` for each below it",
    ),
    (
        "tls: {certificates: {chain: a, key: b}}",
        "1: tls.certificates: a section of settings is given, and a list is expected: let each element begin with a dash",
    ),
    (
        "tls: {certificates: [{chain: a}]}",
        "1: tls.certificates: `key` is missing: every entry needs it",
    ),
    (
        "tls: true",
        "1: tls: `true` is given, and a section of settings is expected: write them below it, indented, each as `setting: value`",
    ),
    (
        "rtc:\n- port: 1",
        "1: rtc: a list is given, and a section of settings is expected: leave the dashes or the brackets out",
    ),
    (
        "drain_timeout: 10m",
        "1: drain_timeout: `10m` is given: a time is a number of seconds, without a unit: write 600",
    ),
    (
        "room: {empty_timeout: 1.5h}",
        "1: room.empty_timeout: `1.5h` is given: a time is a number of seconds, without a unit: write 5400",
    ),
    (
        "room: {empty_timeout: soon}",
        "1: room.empty_timeout: `soon` is given: a time is a number of seconds, without a unit",
    ),
    (
        "drain_timeout: -1",
        "1: drain_timeout: `-1` is given: a time is a number of seconds from 0",
    ),
    (
        "drain_timeout: .inf",
        "1: drain_timeout: `.inf` is given: a time is a number of seconds, without a unit",
    ),
    (
        "drain_timeout: [1]",
        "1: drain_timeout: a list is given, and a number of seconds, such as 600 or 2.5 is expected: write it without a dash and without brackets",
    ),
    (
        "rtc: {playout_delay_max: 400ms}",
        "1: rtc.playout_delay_max: `400ms` is given, and a whole number of 0 or more is expected: write the number alone, without a unit",
    ),
    (
        "rtc: {use_external_ip: maybe}",
        "1: rtc.use_external_ip: `maybe` is given, and `true` or `false` is expected",
    ),
    (
        "rtc: {offload: ebfp}",
        "1: rtc.offload: `ebfp` is given, and one of none, auto, ebpf, p4 is expected, perhaps ebpf",
    ),
    (
        "rtc: {offload: [p4]}",
        "1: rtc.offload: a list is given, and one of none, auto, ebpf, p4 is expected: write it without a dash and without brackets",
    ),
    (
        "rtc: {port: 7885-7882}",
        "1: rtc.port: `7885-7882` is given: ports of media are written \"7882\" or \"7882-7885\", at most 64 of them",
    ),
    (
        "sip: {ng: {listen: 'localhost:2223'}}",
        "1: sip.ng.listen: `localhost:2223` is given: an address with a port is written \"127.0.0.1:2223\" or \"[::1]:2223\"",
    ),
    (
        "sip: {interfaces: [{address: 10.0.0.1, ports: 5}]}",
        "1: sip.interfaces.ports: `5` is given: ports are written \"30000-40000\"",
    ),
    (
        "turn: {prot: 3478}",
        "1: turn.prot: there is no setting `prot` in `turn`: perhaps `port` is meant",
    ),
    (
        "tcp_port: 7881",
        "1: tcp_port: there is no setting `tcp_port` at the top, but `rtc.tcp_port`: write it in that section, indented below its name",
    ),
    (
        "rtc: {level: debug}",
        "1: rtc.level: there is no setting `level` in `rtc`, but `log.level`: write it in that section, indented below its name",
    ),
    (
        "log: {colour: red}",
        "1: log.colour: there is no setting `colour` in `log`: there are level, json",
    ),
    (
        "bind: []\nbind_addresses: []",
        "2: bind_addresses: `bind` is given twice, by two names: keep one of them",
    ),
    (
        "rtc:\n  port: 1\n  port: 2",
        "3: rtc.port: `port` is given twice, at lines 2 and 3: keep one of them",
    ),
    (
        "rtc:\n\tport: 1",
        "2: -: a tab indents this line: YAML takes spaces only",
    ),
    (
        "port: \"7880",
        "1: port: a quote that opens here is not closed: add the other one",
    ),
    (
        "rtc: {port: 1",
        "1: rtc: a bracket that opens here is not closed: add the other one",
    ),
    (
        "rtc: {port: 1\nport: 7880",
        "1: rtc: a bracket that opens here is not closed: add the other one",
    ),
    (
        "- port: 1",
        "1: -: a list is given, and a section of settings is expected: leave the dashes or the brackets out",
    ),
];

#[test]
fn an_error_names_line_setting_value_form_and_cure() {
    for (text, fault) in FAULTS {
        assert_eq!(faults(text), [fault], "{text}");
    }
}

#[test]
fn all_errors_of_a_file_are_told_at_once() {
    let text = "\
drain_timeout: 10m
limits: {connections: many, request_timeout: soon}
rtc:
  port: 70000
  wrokers: 2
  workers: two
\ttcp_port: 7881
room:
- a
port: 1
port: 2
sip:
  interfaces:
    - {address: 10.0.0.1}
    - {address: 10.0.0}
tls: \"open
log: {level: info}
";
    let places: Vec<String> = faults(text)
        .iter()
        .map(|fault| fault.split(": ").take(2).collect::<Vec<_>>().join(": "))
        .collect();
    let expected = [
        "1: drain_timeout",
        "2: limits.connections",
        "2: limits.request_timeout",
        "4: rtc.port",
        "5: rtc.wrokers",
        "6: rtc.workers",
        "7: -",
        "8: room",
        "11: port",
        "15: sip.interfaces.address",
        "16: tls",
    ];
    assert_eq!(places, expected, "{:#?}", faults(text));
}

#[test]
fn sections_without_settings_have_the_defaults() {
    let file = read::<File>("rtc:\nbind:\nkeys:\nport:\n# nothing\nlog:\n", &SECRETS);
    assert_eq!(file.faults, []);
    assert!(
        file.value
            .is_some_and(|file| file.bind.is_empty() && file.port.is_none())
    );
}

#[test]
fn other_notations_of_yaml_are_read() {
    let text = "
log: &log {level: warn}
room: {auto_create: no}
port: \"78_80\"
rtc:
  <<: {workers: 0x3, port: 1}
  port: 2
";
    let file = read::<File>(text, &SECRETS);
    assert_eq!(file.faults, []);
    let file = file.value.unwrap();
    assert_eq!(
        (file.port, file.rtc.workers, file.log.level.as_str()),
        (Some(7880), Some(3), "warn")
    );
    assert!(!file.room.auto_create);
    assert_eq!(faults("port: *unknown\n").len(), 1);
    assert_eq!(faults("port: 1\n---\nport: 2\n").len(), 1);
}

#[test]
fn secrets_are_not_in_errors() {
    for text in [
        "keys: hunter2",
        "keys: {app: [hunter2]}",
        "keys: [hunter2]",
        "keys:\n  app: hunter2\n  app: hunter2",
        "metrics: {token: [hunter2]}",
        "turn: {secret: {hunter2: 1}}",
        "webhook: {urls: 'http://me:hunter2@host/'}",
        "rtc: {stun_servers: ['me:hunter2@host']}",
        "bind: [hunter2-hunter2-hunter2-hunter2]",
    ] {
        let faults = faults(text).join("\n");
        assert!(!faults.is_empty() && !faults.contains("hunter2"), "{faults}");
    }
    let keys = read::<super::super::Keys>("app: [hunter2]\nb: {c: hunter2}\nhunter2", &[""]);
    let shown = ConfigError::Settings("keys".to_owned(), keys.faults).to_string();
    assert!(shown.lines().count() > 1 && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn hostile_files_end() {
    let nested = "[".repeat(100_000);
    let laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned()
        + &(b'b'..b'k')
            .map(|name| {
                let (name, before) = (char::from(name), char::from(name - 1));
                format!("{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}, *{before}]\n")
            })
            .collect::<String>();
    let unknown: String = (0..10_000).map(|number| format!("setting_{number}: 1\n")).collect();
    for text in [
        nested,
        laughs,
        unknown,
        "\t".repeat(100_000),
        "\tx\n".repeat(1_000),
        "? a\n? [b]: c".to_owned(),
    ] {
        assert!(faults(&text).len() <= 1_000);
    }
}

#[test]
fn settings_have_lines() {
    let text = "\
# A comment: of no key.
port: 7880
rtc:
  port: 7882
  ebpf: {interfaces: [eth0]}
sip:
  interfaces:
    - name: one
      ports: 1-2
  allow: [10.0.0.0/8]
";
    for (key, line) in [
        ("port", Some(2)),
        ("rtc.port", Some(4)),
        ("rtc.ebpf.interfaces", Some(5)),
        ("rtc.p4", Some(3)),
        ("sip.interfaces.ports", Some(9)),
        ("sip.allow", Some(10)),
        ("metrics", None),
    ] {
        assert_eq!(line_of(text, key), line, "{key}");
    }
}

#[test]
fn every_setting_is_known_by_name() {
    let names = schema::names::<File>();
    for name in [
        "port",
        "rtc.p4.ports.routes.to",
        "sip.interfaces.ports",
        "quotas.keys.*.rooms",
        "tls.acme.names",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
}
