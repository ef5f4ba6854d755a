//! `weir doctor` as an operator runs it, with real conditions.

use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use ports::free_port;
use serde_json::Value;

use crate::authority::{Authority, Folder};
use crate::server::{ONE, Server, is_served, with_keys};

/// A year in which a certificate has ended, and one in which it is valid.
const EARLY: i32 = 2001;
const LATE: i32 = 4000;

/// The findings of a run, with its status.
struct Report {
    status: Option<i32>,
    findings: Vec<Value>,
    text: String,
}

impl Report {
    fn of(output: &Output) -> Self {
        let text = String::from_utf8(output.stdout.clone()).expect("text");
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let report = Report {
            status: output.status.code(),
            findings: json["findings"].as_array().expect("a list").clone(),
            text,
        };
        let errors = report
            .findings
            .iter()
            .filter(|finding| finding["severity"] == "error")
            .count();
        assert_eq!(json["errors"], errors, "{}", report.text);
        assert_eq!(report.status, Some(i32::from(errors > 0)), "{}", report.text);
        report
    }

    /// The finding of a check that says this, with its cure.
    fn find(&self, check: &str, severity: &str, said: &str) -> &Value {
        let is_it = |finding: &&Value| {
            let text = |field: &str| finding[field].as_str().unwrap_or_default().to_owned();
            finding["check"] == check
                && finding["severity"] == severity
                && format!("{}: {}", text("message"), text("cure")).contains(said)
        };
        let found = self.findings.iter().find(is_it);
        found.unwrap_or_else(|| panic!("no {severity} of {check} says {said}: {}", self.text))
    }
}

fn examine(config: &Path, more: &[&str]) -> Report {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(["doctor", "--json", "--config"]).arg(config).args(more);
    Report::of(&command.output().expect("the program starts"))
}

/// A configuration file with ports that are free, and the port of media.
fn config(folder: &Folder, more: &str) -> (std::path::PathBuf, u16) {
    let (http, media) = (free_port(), free_port());
    let path = folder.0.join("weir.yaml");
    let text = format!("bind: [127.0.0.1]\nport: {http}\nrtc: {{port: {media}}}\nkeys: {{one: {ONE}}}\n{more}");
    fs::write(&path, text).expect("a file");
    (path, media)
}

#[test]
fn doctor_finds_free_ports_and_asks_nobody() {
    let folder = Folder::new("doctor-free");
    let (path, media) = config(&folder, "");
    let report = examine(&path, &[]);
    assert_eq!(report.status, Some(0), "{}", report.text);
    report.find("configuration", "ok", "is valid");
    report.find("ports", "ok", &format!("UDP 127.0.0.1:{media}"));
    report.find("server", "info", "no server runs");
    report.find("STUN", "info", "no STUN server is asked");
    report.find("certificates", "info", "no section `tls`");
    for check in ["open files", "socket buffers", "time of day", "AF_XDP rings", "eBPF"] {
        assert!(
            report.findings.iter().any(|finding| finding["check"] == check),
            "{check}"
        );
    }
}

#[test]
fn doctor_does_not_disturb_the_server_that_runs() {
    let server = Server::start(&with_keys(&[("one", ONE)], ""));
    let mut ada = server.join("one", ONE);
    let report = examine(&server.config(), &[]);
    assert_eq!(report.status, Some(0), "{}", report.text);
    report.find("ports", "ok", &format!("in use by weir (process {})", server.id()));
    report.find("server", "ok", "is ready");
    report.find("open files", "ok", &format!("weir (process {})", server.id()));
    assert!(is_served(&mut ada));
}

#[test]
fn doctor_names_the_program_that_has_a_port() {
    let folder = Folder::new("doctor-port");
    let (path, media) = config(&folder, "");
    let _socket = UdpSocket::bind(("127.0.0.1", media)).expect("it is free");
    let report = examine(&path, &[]);
    assert_eq!(report.status, Some(1), "{}", report.text);
    report.find("ports", "error", &format!("(process {})", std::process::id()));
    report.find("ports", "error", "set another port in `rtc.port`");
}

#[test]
fn doctor_finds_a_port_of_http_at_which_nobody_answers() {
    let folder = Folder::new("doctor-silent");
    let port = free_port();
    let path = folder.0.join("weir.yaml");
    fs::write(
        &path,
        format!("bind: [127.0.0.1]\nport: {port}\nkeys: {{one: {ONE}}}\n"),
    )
    .expect("a file");
    let _listener = TcpListener::bind(("127.0.0.1", port)).expect("it is free");
    let report = examine(&path, &[]);
    report.find("ports", "error", "set another port in `port`");
    report.find("server", "error", "no server answers there");
}

#[test]
fn doctor_warns_of_a_small_limit_of_open_files() {
    let folder = Folder::new("doctor-files");
    let (path, _) = config(&folder, "");
    let script = "ulimit -n 512 && exec \"$0\" doctor --json --config \"$1\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_weir")]).arg(&path);
    let report = Report::of(&command.output().expect("a shell"));
    assert_eq!(report.status, Some(0), "{}", report.text);
    report.find("open files", "warning", "may have 512 open");
    report.find("open files", "warning", "LimitNOFILE=1048576");
}

#[test]
fn doctor_reads_the_certificates() {
    let (authority, folder) = (Authority::new(), Folder::new("doctor-tls"));
    let expired = folder.put("expired", &authority.issue(&["old.invalid"], EARLY));
    let valid = folder.put("valid", &authority.issue(&["127.0.0.1", "new.invalid"], LATE));
    let port = free_port();
    let tls = |files: &str| format!("tls: {{port: {port}, certificates: [{files}]}}\n");
    let (path, _) = config(&folder, &tls(&format!("{expired}, {valid}")));
    let report = examine(&path, &[]);
    assert_eq!(report.status, Some(1), "{}", report.text);
    report.find("certificates", "error", "for old.invalid has ended");
    report.find("certificates", "ok", "for 127.0.0.1, new.invalid is valid for");
    report.find("certificates", "warning", "signed by no authority");
    report.find("names", "warning", "new.invalid has no address");
    let (path, _) = config(&folder, &tls(&valid));
    let root = folder.0.join("root.pem");
    fs::write(&root, authority.pem()).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(["doctor", "--json", "--config"])
        .arg(&path)
        .env("SSL_CERT_FILE", &root);
    let report = Report::of(&command.output().expect("the program starts"));
    report.find("certificates", "ok", "signed by an authority that this machine trusts");
}

#[test]
fn doctor_says_what_the_configuration_lacks() {
    let folder = Folder::new("doctor-config");
    let (path, _) = config(&folder, "prot: 1\n");
    let report = examine(&path, &[]);
    report.find("configuration", "error", "prot");
    report.find("configuration", "info", "are not checked");
    let report = examine(&folder.0.join("absent.yaml"), &[]);
    report.find("configuration", "error", "cannot read");
}

#[test]
fn doctor_asks_the_turn_server_of_another_weir() {
    let turn = free_port();
    let _server = Server::start(&with_keys(&[("one", ONE)], &format!("turn: {{port: {turn}}}\n")));
    let folder = Folder::new("doctor-turn");
    let (path, media) = config(&folder, "");
    let report = examine(&path, &["--stun", &format!("127.0.0.1:{turn}")]);
    assert_eq!(report.status, Some(0), "{}", report.text);
    report.find("STUN", "ok", "sees 127.0.0.1 as 127.0.0.1, as clients are told");
    report.find("STUN", "ok", &format!("sees UDP port {media} as {media}"));
    report.find("STUN", "info", "no second address");
}

#[test]
fn doctor_gives_up_a_stun_server_that_is_silent() {
    let folder = Folder::new("doctor-stun");
    let (path, _) = config(&folder, "");
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let name = silent.local_addr().expect("it has one").to_string();
    let report = examine(&path, &["--stun", &name]);
    assert_eq!(report.status, Some(0), "{}", report.text);
    report.find("STUN", "warning", &format!("{name} does not answer 127.0.0.1"));
    let report = examine(&path, &["--stun", "nowhere.invalid"]);
    report.find("STUN", "warning", "nowhere.invalid:3478 was not asked");
}

#[test]
fn doctor_tells_whether_strangers_reach_the_port_of_media() {
    for (is_open, severity, said) in [
        (true, "ok", "is reached by strangers such as 127.0.0.2:"),
        (false, "warning", "is not reached by strangers"),
    ] {
        let folder = Folder::new(if is_open { "doctor-open" } else { "doctor-closed" });
        let (path, media) = config(&folder, "");
        let server = serve_two_addresses(is_open);
        let report = examine(&path, &["--stun", &server.to_string()]);
        report.find("STUN", severity, said);
        report.find("STUN", "ok", &format!("sees UDP port {media} as {media}"));
    }
}

/// A STUN server with two addresses (RFC 5780), whose answers from the second one arrive or not.
fn serve_two_addresses(is_open: bool) -> SocketAddr {
    let [first, second] = ["127.0.0.1:0", "127.0.0.2:0"].map(|at| UdpSocket::bind(at).expect("an address"));
    let [at, other] = [&first, &second].map(|socket| socket.local_addr().expect("it has one"));
    first.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    std::thread::spawn(move || {
        let mut buffer = [0; 100];
        while let Ok((len, from)) = first.recv_from(&mut buffer) {
            let mut answer = vec![1, 1, 0, 24];
            answer.extend(&buffer[4..20]);
            answer.extend(address(0x0020, from, 0x2112_a442));
            answer.extend(address(0x802c, other, 0));
            let sent = match len {
                // With CHANGE-REQUEST.
                28 if is_open => second.send_to(&answer, from),
                28 => continue,
                _ => first.send_to(&answer, from),
            };
            sent.expect("the client has its port");
        }
    });
    at
}

/// An attribute with an address of IPv4, combined with a cookie.
fn address(kind: u16, address: SocketAddr, cookie: u32) -> Vec<u8> {
    let SocketAddr::V4(address) = address else {
        panic!("it is of IPv4");
    };
    let mut attribute = [kind.to_be_bytes(), [0, 8], [0, 1]].concat();
    attribute.extend((address.port() ^ (cookie >> 16) as u16).to_be_bytes());
    attribute.extend((address.ip().to_bits() ^ cookie).to_be_bytes());
    attribute
}
