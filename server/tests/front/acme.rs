//! Certificates of an ACME directory: a test's own, and Let's Encrypt's Pebble where it is on the
//! path.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ports::{free_port, free_ports};
use skip::skipped;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::authority::{Authority, Folder, client, connect, get, replace, shown};
use crate::directory::Directory;
use crate::server::Server;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NAMES: [&str; 2] = ["one.example", "two.example"];

/// The file with the issuer of a directory's own certificate.
const ROOT: &str = "root.pem";

/// A directory that checks names at ports of this machine.
struct Pebble {
    child: Child,
    authority: Authority,
    port: u16,
    management: u16,
}

impl Pebble {
    /// Starts it; `None` if it is not on the path.
    fn start(folder: &Path, http: u16, tls: u16) -> Option<Self> {
        let authority = Authority::new();
        let own = authority.issue(&["localhost", "127.0.0.1"], 4000);
        let [certificate, key, config] = ["pebble.pem", "pebble-key.pem", "pebble.json"].map(|name| folder.join(name));
        let [port, management] = free_ports();
        replace(&certificate, &own.chain);
        replace(&key, &own.key);
        replace(&folder.join(ROOT), &authority.pem());
        let settings = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{port}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": certificate,
            "privateKey": key,
            "httpPort": http,
            "tlsPort": tls,
            "keyAlgorithm": "ecdsa",
            "retryAfter": { "authz": 1, "order": 1 },
        }});
        replace(&config, &settings.to_string());
        let mut command = Command::new("pebble");
        command
            .arg("-config")
            .arg(&config)
            .args(["-dnsserver", &names().to_string()])
            .env("PEBBLE_VA_NOSLEEP", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                skipped(
                    "nothing was tested with Pebble",
                    format_args!("`pebble` does not start: {error}"),
                );
                return None;
            }
        };
        let pebble = Pebble {
            child,
            authority,
            port,
            management,
        };
        for port in [port, management] {
            let listens = (0..400).any(|_| {
                std::thread::sleep(Duration::from_millis(50));
                TcpStream::connect(("127.0.0.1", port)).is_ok()
            });
            assert!(listens, "pebble does not listen");
        }
        Some(pebble)
    }

    /// The certificate that its own are signed by. It is another one at each start.
    fn root(&self) -> CertificateDer<'static> {
        let stream = connect(&self.authority.client(&[]), self.management, "localhost").expect("it listens");
        let answer = get(stream, "localhost", "/roots/0").expect("it answers");
        let (_, pem) = answer.split_once("\r\n\r\n").expect("a head and a body");
        CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        // It is ours, and may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of names to which all names are this machine's, until the end of the process. It
/// speaks TCP, as Pebble does: each message has its length in front (RFC 1035 section 4.2.2).
fn names() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that goes away has its answer, or wants none.
            std::thread::spawn(move || answer_all(stream));
        }
    });
    address
}

/// Answers the queries of a connection until it ends.
fn answer_all(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let mut len = [0; 2];
        stream.read_exact(&mut len)?;
        let mut query = vec![0; usize::from(u16::from_be_bytes(len))];
        stream.read_exact(&mut query)?;
        let answer = answer(&query).ok_or(ErrorKind::InvalidData)?;
        let len = u16::try_from(answer.len()).map_err(io::Error::other)?;
        stream.write_all(&[&len.to_be_bytes()[..], &answer].concat())?;
    }
}

/// The answer to a query of one question (RFC 1035 section 4).
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    const HEADER_LEN: usize = 12;
    const TYPE_A: [u8; 2] = [0, 1];
    let mut end = HEADER_LEN;
    while *query.get(end)? != 0 {
        end += 1 + usize::from(query[end]);
    }
    let question = query.get(HEADER_LEN..end + 5)?;
    let is_v4 = query[end + 1..end + 3] == TYPE_A;
    let mut answer = query[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_v4), 0, 0, 0, 0]);
    answer.extend(question);
    if is_v4 {
        // The name of the question, type, class, 60 seconds, and the length of an address.
        answer.extend([0xc0, HEADER_LEN as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend(Ipv4Addr::LOCALHOST.octets());
    }
    Some(answer)
}

/// Settings that order a certificate at a directory whose issuer is in the folder.
fn config(folder: &Folder, tls: u16, directory: &str, challenge: &str) -> String {
    format!(
        "keys: {{one: {SECRET}}}
tls:
  port: {tls}
  acme:
    names: [{names}]
    accept_terms: true
    contact: operator@one.example
    directory: '{directory}'
    root: {path}/{ROOT}
    challenge: {challenge}
    storage: {path}/acme
",
        names = NAMES.join(", "),
        path = folder.0.display(),
    )
}

/// Orders a certificate, has it shown for all names, and again after a restart.
fn is_ordered_and_kept(http: u16, tls: u16, config: &str, root: impl Fn() -> CertificateDer<'static>) {
    let server = Server::start_at(http, config);
    server.await_log("a certificate was issued");
    let client = client(root(), &[]);
    let connect = |name| connect(&client, tls, name).expect("a connection");
    let issued = shown(&connect(NAMES[0]));
    for name in NAMES {
        let answer = get(connect(name), name, "/healthz").expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let metrics = server.get("/metrics");
    assert!(
        metrics.contains("weir_tls_orders_total{result=\"issued\"} 1\n"),
        "{metrics}"
    );
    drop(server);

    let server = Server::start_at(http, config);
    assert_eq!(shown(&connect(NAMES[1])), issued, "it was stored");
    let metrics = server.get("/metrics");
    assert!(
        metrics.contains("weir_tls_orders_total{result=\"issued\"} 0\n"),
        "{metrics}"
    );
}

fn is_ordered_at_a_directory(challenge: &str) {
    let folder = Folder::new(challenge);
    let [http, tls] = free_ports();
    let directory = Directory::start([http, tls]);
    replace(&folder.0.join(ROOT), &directory.root_pem());
    let config = config(&folder, tls, &directory.url(), challenge);
    is_ordered_and_kept(http, tls, &config, || directory.root());
    assert_eq!(directory.orders(), 1);
}

fn is_ordered_at_pebble(challenge: &str) {
    let folder = Folder::new(&format!("pebble-{challenge}"));
    let [http, tls] = free_ports();
    let Some(pebble) = Pebble::start(&folder.0, http, tls) else {
        return;
    };
    let url = format!("https://localhost:{}/dir", pebble.port);
    let config = config(&folder, tls, &url, challenge);
    is_ordered_and_kept(http, tls, &config, || pebble.root());
}

#[test]
fn a_certificate_is_ordered_by_tls_and_kept() {
    is_ordered_at_a_directory("tls-alpn-01");
}

#[test]
fn a_certificate_is_ordered_by_http_and_kept() {
    is_ordered_at_a_directory("http-01");
}

#[test]
fn pebble_issues_a_certificate_by_tls() {
    is_ordered_at_pebble("tls-alpn-01");
}

#[test]
fn pebble_issues_a_certificate_by_http() {
    is_ordered_at_pebble("http-01");
}

#[test]
fn an_account_that_cannot_be_used_is_replaced() {
    let folder = Folder::new("accounts");
    let [http, tls] = free_ports();
    let directory = Directory::start([http, tls]);
    replace(&folder.0.join(ROOT), &directory.root_pem());
    let config = config(&folder, tls, &directory.url(), "http-01");
    let order = |warning: &str| {
        let server = Server::start_at(http, &config);
        server.await_log(warning);
        server.await_log("a certificate was issued");
        drop(server);
        let mut stored = fs::read_dir(folder.0.join("acme")).expect("a folder");
        let stored = stored.next().expect("one directory").expect("a folder").path();
        fs::remove_file(stored.join("certificate.pem")).expect("it is there");
        stored.join("account.json")
    };
    let account = order("an ACME account was made");
    directory.forget_account();
    order("the directory does not know the stored ACME account");
    replace(&account, "{");
    order("the stored ACME account cannot be read");
    order("a certificate was issued");
    assert_eq!(directory.orders(), 4);
}

#[test]
fn the_words_of_a_directory_that_refuses_are_logged() {
    let folder = Folder::new("refused");
    let [http, tls] = free_ports();
    // It checks at other ports, where nobody answers.
    let directory = Directory::start(free_ports());
    replace(&folder.0.join(ROOT), &directory.root_pem());
    let server = Server::start_at(http, &config(&folder, tls, &directory.url(), "http-01"));
    server.await_log("one.example: API error: not yours");
    let metrics = server.get("/metrics");
    assert!(
        metrics.contains("weir_tls_orders_total{result=\"failed\"} 1\n"),
        "{metrics}"
    );
}

#[test]
fn a_directory_that_is_not_there_is_asked_again_later() {
    let folder = Folder::new("no-directory");
    let [port, tls] = free_ports();
    let config = format!(
        "keys: {{one: {SECRET}}}
tls: {{port: {tls}, acme: {{names: [one.example], accept_terms: true, storage: {path}, directory: 'https://localhost:{port}/dir'}}}}
",
        path = folder.0.display(),
    );
    let server = Server::start_at(free_port(), &config);
    server.await_log("no certificate was issued");
    server.await_log("again_in_seconds=300");
    let client = Authority::new().client(&[]);
    let error = connect(&client, tls, "one.example")
        .map(|_| ())
        .expect_err("there is no certificate");
    assert!(error.to_string().contains("UnrecognisedName"), "{error}");
    assert_eq!(server.status("/healthz"), 200);
}
