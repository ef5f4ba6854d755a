//! The metrics as Prometheus takes them, and the rules and the dashboard of `packaging/grafana`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ports::free_port;
use serde_json::Value;
use skip::skipped;

use crate::authority::{Authority, Folder};
use crate::server::{ONE, Server, with_keys};

/// A year in which a certificate is valid.
const LATE: i32 = 4000;

/// How often Prometheus is asked until it has what it needs, each time after a tenth of a second.
const LOOKS: usize = 300;

fn grafana() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/grafana"))
}

/// Whether a program of Prometheus is there; a test without it is skipped.
fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let is_there = found.is_ok_and(|status| status.success());
    if !is_there {
        skipped(
            "the rules and metrics of Prometheus",
            format!("there is no {program} on the path"),
        );
    }
    is_there
}

/// A server with as many parts as it has alone, and its folder.
fn server() -> (Server, Folder) {
    let (authority, folder) = (Authority::new(), Folder::new("prometheus"));
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let [tls, turn, ng] = [(); 3].map(|()| free_port());
    let more = format!(
        "tls: {{port: {tls}, certificates: [{files}]}}\nturn: {{port: {turn}}}\n\
         sip: {{ng: {{listen: '127.0.0.1:{ng}'}}, interfaces: [{{address: 127.0.0.1, ports: 31000-31009}}]}}\n"
    );
    let server = Server::start(&with_keys(&[("one", ONE)], &more));
    server.wait("it is ready", || server.status("/readyz") == 200);
    (server, folder)
}

#[test]
fn prometheus_finds_nothing_to_blame_in_the_metrics() {
    if !has("promtool") {
        return;
    }
    let (server, _folder) = server();
    let answer = server.get("/metrics");
    let (head, text) = answer.split_once("\r\n\r\n").expect("HTTP");
    assert!(!head.contains("chunked"), "{head}");
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was there");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn prometheus_raises_each_alert_for_its_cause() {
    if !has("promtool") {
        return;
    }
    for arguments in [
        ["check", "rules", "weir.rules.yaml"],
        ["test", "rules", "weir.rules.test.yaml"],
    ] {
        let mut command = Command::new("promtool");
        let output = command
            .args(arguments)
            .current_dir(grafana())
            .output()
            .expect("it ends");
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn prometheus_evaluates_the_rules_and_the_dashboard() {
    if !has("prometheus") {
        return;
    }
    let (server, folder) = server();
    let prometheus = Prometheus::start(&server, &folder);
    prometheus.wait("/api/v1/query?query=weir_rooms", |result| {
        result["data"]["result"]
            .as_array()
            .is_some_and(|found| found.len() == 1)
    });
    // A group is evaluated for the first time within its interval.
    prometheus.wait("/api/v1/rules", |answer| {
        let rules = answer["data"]["groups"][0]["rules"].as_array();
        rules.is_some_and(|rules| rules.len() == alerts() && rules.iter().all(|rule| rule["health"] == "ok"))
    });
    for expression in dashboard() {
        let expression = expression.replace("$job", "weir").replace("$instance", ".*");
        let expression = expression.replace("$__rate_interval", "1m");
        let answer = prometheus.get(&format!("/api/v1/query?query={}", in_query(&expression)));
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
    }
}

#[test]
fn prometheus_rules_and_dashboard_use_metrics_that_are_documented() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operate/running.md");
    let docs = fs::read_to_string(docs).expect("the page");
    let rules = fs::read_to_string(grafana().join("weir.rules.yaml")).expect("the rules");
    let used: BTreeSet<String> = metrics(&rules)
        .chain(dashboard().iter().flat_map(|text| metrics(text)))
        .collect();
    assert!(used.len() > 20, "{used:?}");
    for name in used {
        let family = ["_bucket", "_count", "_sum"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix));
        let name = family.unwrap_or(&name);
        let is_there =
            docs.contains(name) || docs.contains("weir_receivers_{allocated,wanted}") && name.contains("receivers_");
        assert!(is_there, "{name}");
    }
}

/// How many alerts there are.
fn alerts() -> usize {
    let rules = fs::read_to_string(grafana().join("weir.rules.yaml")).expect("the rules");
    rules.matches("- alert:").count()
}

/// The expressions of the dashboard.
fn dashboard() -> Vec<String> {
    let text = fs::read_to_string(grafana().join("weir-dashboard.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("a list").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let expressions = targets.map(|target| target["expr"].as_str().expect("a text").to_owned());
    expressions.collect()
}

/// The metrics of Weir that a text names.
fn metrics(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.filter(|word| word.starts_with("weir_")).map(str::to_owned)
}

fn in_query(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A Prometheus that ends with the test.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Prometheus {
    /// Starts it with the example and the rules, for a server.
    fn start(server: &Server, folder: &Folder) -> Self {
        let example = fs::read_to_string(grafana().join("prometheus.yaml")).expect("the example");
        let config = example
            .replace("127.0.0.1:7880", &format!("127.0.0.1:{}", server.port()))
            .replace("scrape_interval: 15s", "scrape_interval: 1s");
        let config = format!("global: {{evaluation_interval: 1s}}\n{config}");
        assert_ne!(config, example);
        let path = folder.0.join("prometheus.yaml");
        fs::write(&path, config).expect("a file");
        fs::copy(grafana().join("weir.rules.yaml"), folder.0.join("weir.rules.yaml")).expect("a file");
        let port = free_port();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", folder.0.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it was there");
        Prometheus { child, port }
    }

    /// Asks until an answer is as it should be.
    fn wait(&self, path: &str, is_so: impl Fn(&Value) -> bool) {
        let mut last = Value::Null;
        for _ in 0..LOOKS {
            last = self.get(path);
            if is_so(&last) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{path}: {last}");
    }

    /// An answer; nothing as long as it does not listen.
    fn get(&self, path: &str) -> Value {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return Value::Null;
        };
        let mut answer = String::new();
        let asked = write!(stream, "GET {path} HTTP/1.0\r\n\r\n").and_then(|()| stream.read_to_string(&mut answer));
        let body = asked.ok().and_then(|_| answer.split_once("\r\n\r\n"));
        body.and_then(|(_, body)| serde_json::from_str(body).ok())
            .unwrap_or_default()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It is ours, and may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
