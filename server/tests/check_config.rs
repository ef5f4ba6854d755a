//! `weir check-config` as an operator runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A file of this test process.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("weir-check-{}-{name}.yaml", std::process::id()));
    fs::write(&path, text).expect("the folder is there");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    path
}

fn check(path: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("check-config").arg("--config").arg(path).args(more);
    command.output().expect("the program starts")
}

/// The report about a file with errors.
fn errors(path: &Path) -> String {
    let output = check(path, &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The report about a file without errors.
fn good(path: &Path) -> String {
    let output = check(path, &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// A configuration with a key, whose next line is the third.
fn with_key(more: &str) -> String {
    format!("bind: [127.0.0.1]\nkeys: {{a: {SECRET}}}\n{more}")
}

#[test]
fn each_error_has_its_line_its_setting_and_its_cure() {
    for (nth, (text, place, cure)) in [
        (
            with_key("rtc:\n  porrt: 7882\n"),
            "4: rtc.porrt: ",
            "perhaps `port` is meant",
        ),
        (with_key("port: seven\n"), "3: port: ", ""),
        (with_key("rtc:\n  port: 7885-7882\n"), "4: rtc.port: ", "\"7882-7885\""),
        (
            with_key("rtc:\n  port: 7882-7885\n  workers: 2\n"),
            "4: rtc.port: ",
            "leave `rtc.workers` out",
        ),
        (with_key("drain_timeout: -1\n"), "3: drain_timeout: ", "from 0"),
        (
            with_key("metrics:\n  names: true\n"),
            "4: metrics.names: ",
            "needs a `token`",
        ),
        (
            with_key("metrics:\n  token: abc\n  open: true\n"),
            "5: metrics.open: ",
            "one of the two",
        ),
        (
            with_key("limits: {connections: 0}\n"),
            "3: limits.connections: ",
            "a value above 0",
        ),
        (
            with_key("signalling: {ping_timeout: 5}\n"),
            "3: signalling: ",
            "above it",
        ),
        (
            with_key("webhook: {api_key: b, urls: ['http://127.0.0.1/']}\n"),
            "3: webhook: ",
            "there is no API key b",
        ),
        (
            with_key("rtc:\n  offload: p4\n"),
            "4: rtc.offload: ",
            "the switch and its ports in `p4:`",
        ),
        (
            with_key("tls:\n  certificates: [{chain: /nowhere.pem, key: /nowhere-key.pem}]\n"),
            "4: tls.certificates: ",
            "cannot read /nowhere.pem",
        ),
        (
            with_key("tls:\n  acme:\n    names: [a.example]\n    accept_terms: true\n    root: /nowhere.pem\n"),
            "7: tls.acme.root: ",
            "cannot use /nowhere.pem",
        ),
        (with_key("tls: {port: 7443}\n"), "3: tls: ", "needs `certificates:"),
        (
            with_key("turn:\n  port: 7880\n"),
            "4: turn.port: ",
            "port 7880 is both `port` and `turn.port`",
        ),
        (with_key("log:\n  level: weir=loud\n"), "4: log.level: ", "weir=loud"),
        (
            with_key("sip:\n  ng: {listen: '0.0.0.0:2223'}\n"),
            "3: sip.allow: ",
            "say in its `allow`",
        ),
        (
            with_key("sip:\n  interfaces:\n    - {name: x, address: 127.0.0.1}\n    - {name: y, address: 127.0.0.1}\n"),
            "4: sip.interfaces: ",
            "give out the same ports",
        ),
        (
            with_key("cluster: {ca: absent.pem, certificate: one.pem, key: one.key}\n"),
            "3: cluster: ",
            "absent.pem",
        ),
        (
            with_key("cluster:\n  ca: ca.pem\n  certificate: one.pem\n  key: one.key\n  listen: 7890\n"),
            "7: cluster.listen: ",
            "7890",
        ),
        (
            "keys: {a: short}\n".to_owned(),
            "1: keys: ",
            "shorter than 32 characters",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let path = file(&format!("broken-{nth}"), &text);
        let report = errors(&path);
        let expected = format!("{}:{place}", path.display());
        assert!(
            report.starts_with(&expected) && report.contains(cure),
            "{text}\n{report}"
        );
        assert_eq!(report.lines().count(), 1, "{report}");
        assert!(!report.contains(SECRET), "{report}");
        fs::remove_file(&path).expect("it is there");
    }
}

#[test]
fn the_files_of_cluster_cert_are_good_and_others_are_named() {
    let folder = std::env::temp_dir().join(format!("weir-check-{}-cluster", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let output = command.arg("cluster-cert").arg(&folder).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let path = |name: &str| folder.join(name).display().to_string();
    let (ca, certificate, key) = (path("ca.pem"), path("weir.pem"), path("weir.key"));
    let with = |secrets: &str| {
        with_key(&format!(
            "cluster:\n  ca: {ca}\n  certificate: {certificate}\n  key: {key}\n  secrets: {secrets}\n"
        ))
    };
    let config = file("cluster", &with(&path("secrets")));
    let report = good(&config);
    assert!(!report.contains("warning"), "{report}");
    let public = fs::Permissions::from_mode(0o644);
    for name in ["secrets", "weir.key"] {
        fs::set_permissions(folder.join(name), public.clone()).expect("it is ours");
        let report = good(&config);
        let expected = format!("warning: {} has secrets in it", path(name));
        assert!(report.contains(&expected), "{report}");
    }
    for (secrets, cure) in [
        (path("absent"), "correct the path"),
        (key.clone(), "line 1: a key has 32 bytes"),
    ] {
        let config = file("cluster", &with(&secrets));
        let report = errors(&config);
        assert!(
            report.contains(":7: cluster.secrets: ") && report.contains(cure),
            "{report}"
        );
        assert!(!report.contains("BEGIN"), "{report}");
    }
    fs::remove_file(&config).expect("it is there");
    fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn errors_without_a_line_are_named_too() {
    let path = file("no-keys", "port: 7880\n");
    let report = errors(&path);
    assert!(report.contains("keys: no API keys: set `keys:`"), "{report}");
    let malformed = file("malformed", &format!("keys: {{a: {SECRET}}}\nbind: [\n"));
    let report = errors(&malformed);
    assert!(
        report.starts_with(&format!("{}:", malformed.display())) && !report.contains(SECRET),
        "{report}"
    );
    let absent = errors(&path.with_extension("absent"));
    assert!(absent.contains("cannot read") && absent.contains("absent"), "{absent}");
}

#[test]
fn all_errors_of_a_file_are_reported() {
    let text = with_key("rtc:\n  porrt: 1\n  last: 2\nlogg: {}\nroom: {visible: nobody}\n");
    let path = file("several", &text);
    let output = check(&path, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found: Vec<_> = report["errors"].as_array().expect("a list").iter().collect();
    let places = found
        .iter()
        .map(|error| (error["line"].as_u64(), error["key"].as_str()));
    let mut places: Vec<_> = places.collect();
    places.sort();
    assert_eq!(
        places,
        [
            (Some(4), Some("rtc.porrt")),
            (Some(5), Some("rtc.last")),
            (Some(6), Some("logg")),
            (Some(7), Some("room.visible")),
        ],
        "{report}"
    );
    assert!(found.iter().all(|error| error["file"] == path.display().to_string()));

    let text = "bind: [127.0.0.1]\nkeys: {a: short}\nlimits: {connections: 0}\nmetrics: {names: true}\n";
    let report = errors(&file("meanings", text));
    assert_eq!(report.lines().count(), 3, "{report}");
}

#[test]
fn a_good_file_has_warnings_and_capabilities() {
    let path = file("good", &with_key(""));
    assert_eq!(good(&path), "the configuration is good\n");
    let path = file("privileged", &with_key("port: 443\nrtc: {dataplane: afxdp}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let report = good(&path);
    for part in [
        "warning: ",
        "chmod 600",
        "CAP_NET_BIND_SERVICE CAP_NET_ADMIN CAP_BPF CAP_NET_RAW CAP_IPC_LOCK\n",
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
    let output = check(&path, &["--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["errors"], Value::Array(Vec::new()));
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1));
}

#[test]
fn flags_count_as_for_serve() {
    let path = file("flags", "bind: [127.0.0.1]\n");
    let output = check(&path, &["--dev"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = check(&path, &["--keys", "nonsense"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = String::from_utf8(output.stdout).expect("text");
    assert!(report.contains("an API key is written \"key:secret\""), "{report}");
}
