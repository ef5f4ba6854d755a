//! HTTPS: its protocols, its certificates while they change, and clients that do not make progress.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use axum::http::{Request, StatusCode, Version};
use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ports::free_port;
use rustix::process::Signal;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tungstenite::WebSocket;

use crate::authority::{Authority, Folder, Stream, connect, get, replace, shown};
use crate::server::{Server, is_served, token};

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// The year of a certificate that is valid, and of one that is not.
const LATE: i32 = 4000;
const EARLY: i32 = 2001;

/// A handshake's record and how long it would be, without the rest.
const BEGINNING: [u8; 6] = [22, 3, 1, 2, 0, 1];

fn config(port: u16, certificates: &[String], more: &str) -> String {
    let certificates = certificates.join(", ");
    format!("keys: {{one: {SECRET}}}\ntls: {{port: {port}, hsts: 600, certificates: [{certificates}]}}\n{more}")
}

/// Joins over TLS.
fn join(stream: Stream, name: &str) -> WebSocket<Stream> {
    let url = format!(
        "wss://{name}/rtc?protocol=16&access_token={}",
        token("ada", "one", SECRET)
    );
    let (mut socket, _) = tungstenite::client(url, stream).expect("it joins");
    socket.read().expect("the answer to joining");
    socket
}

#[test]
fn https_takes_http_1_http_2_and_websockets() {
    let (authority, folder, port) = (Authority::new(), Folder::new("protocols"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let mut server = Server::start(&config(port, &[files], ""));
    let client = authority.client(&[]);
    let stream = connect(&client, port, "weir.example").expect("a connection");
    let answer = get(stream, "weir.example", "/healthz").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(
        answer.contains("strict-transport-security: max-age=600\r\n"),
        "{answer}"
    );

    let client = authority.client(&["h2", "http/1.1"]);
    let both = connect(&client, port, "weir.example").expect("a connection");
    assert_eq!(both.conn.alpn_protocol(), Some(&b"h2"[..]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (version, status) = runtime.expect("a runtime").block_on(async {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .expect("a port");
        let name = ServerName::try_from("weir.example").expect("a name");
        let stream = TlsConnector::from(client).connect(name, stream).await.expect("TLS");
        let exchange = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (mut sender, connection) = exchange.expect("HTTP/2");
        let running = tokio::spawn(connection);
        let request = Request::get("https://weir.example/healthz").body(Empty::<Bytes>::new());
        let response = sender
            .send_request(request.expect("a request"))
            .await
            .expect("an answer");
        running.abort();
        (response.version(), response.status())
    });
    assert_eq!((version, status), (Version::HTTP_2, StatusCode::OK));

    let stream = connect(&authority.client(&["http/1.1"]), port, "weir.example").expect("a connection");
    let mut participant = join(stream, "weir.example");
    assert!(is_served(&mut participant));
    assert_eq!(server.status("/healthz"), 200, "this machine is served without TLS");
    server.signal(Signal::TERM);
    assert!(server.await_end());
}

#[test]
fn each_name_has_its_certificate_and_others_are_refused() {
    let (authority, folder, port) = (Authority::new(), Folder::new("names"), free_port());
    let one = authority.issue(&["one.example"], LATE);
    let wild = authority.issue(&["*.two.example"], LATE);
    let files = [folder.put("one", &one), folder.put("wild", &wild)];
    let server = Server::start(&config(port, &files, ""));
    let client = authority.client(&[]);
    let shown = |name| connect(&client, port, name).map(|stream| shown(&stream));
    assert_eq!(shown("one.example").expect("a connection"), one.der);
    assert_eq!(shown("any.two.example").expect("a connection"), wild.der);
    let error = shown("other.example").expect_err("nobody has this name");
    assert!(error.to_string().contains("UnrecognisedName"), "{error}");
    server.wait("it is counted", || {
        let metrics = server.get("/metrics");
        metrics.contains("weir_tls_handshakes_total{result=\"unknown_name\"} 1\n")
    });
    let metrics = server.get("/metrics");
    assert!(
        metrics.contains("weir_tls_certificate_expiry_seconds{name=\"*.two.example\"} "),
        "{metrics}"
    );
}

#[test]
fn certificates_are_taken_over_while_participants_stay() {
    let (authority, folder, port) = (Authority::new(), Folder::new("taken-over"), free_port());
    let first = authority.issue(&["weir.example"], LATE);
    let files = folder.put("one", &first);
    let server = Server::start(&config(port, std::slice::from_ref(&files), ""));
    let client = authority.client(&["http/1.1"]);
    let connect = |name| connect(&client, port, name).expect("a connection");
    let stream = connect("weir.example");
    assert_eq!(shown(&stream), first.der);
    let mut participant = join(stream, "weir.example");

    let second = authority.issue(&["weir.example", "second.example"], LATE);
    folder.put("one", &second);
    server.await_log("certificates reloaded names=\"weir.example, second.example\"");
    assert_eq!(shown(&connect("weir.example")), second.der);
    assert!(is_served(&mut participant), "participants stay connected");

    let third = authority.issue(&["third.example"], LATE);
    let more = folder.put("three", &third);
    server.reload(&config(port, &[files, more], ""));
    server.await_log("configuration reloaded");
    assert_eq!(shown(&connect("third.example")), third.der);
    assert_eq!(shown(&connect("second.example")), second.der);
    assert!(is_served(&mut participant));
}

#[test]
fn a_server_without_a_valid_certificate_is_not_ready() {
    let (authority, folder, port) = (Authority::new(), Folder::new("ready"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], EARLY));
    let server = Server::start(&config(port, &[files], ""));
    server.wait("its certificate keeps it from being ready", || {
        server.get("/readyz").ends_with("no certificate is valid\n")
    });
    folder.put("one", &authority.issue(&["weir.example"], LATE));
    server.wait("it is ready", || server.status("/readyz") == 200);
}

#[test]
fn certificates_that_cannot_be_used_change_nothing() {
    let (authority, folder, port) = (Authority::new(), Folder::new("unusable"), free_port());
    let good = authority.issue(&["weir.example"], LATE);
    let files = folder.put("one", &good);
    let server = Server::start(&config(port, &[files], ""));
    let client = authority.client(&[]);
    let is_good = || shown(&connect(&client, port, "weir.example").expect("a connection")) == good.der;
    assert!(is_good());
    folder.put("one", &authority.issue(&["expired.example"], EARLY));
    server.await_log("the certificate for expired.example is not valid at this time");
    assert!(is_good());
    let other = authority.issue(&["weir.example"], LATE);
    // The server may have read the two files while they were replaced.
    let start = server.log_len();
    replace(&folder.0.join("one-chain.pem"), &other.chain);
    server.await_log_after(start, "KeyMismatch");
    assert!(is_good());
    replace(&folder.0.join("one-chain.pem"), "-----BEGIN CERTIFICATE-----\n");
    server.await_log("the certificates are not PEM");
    assert!(is_good());
    std::fs::remove_file(folder.0.join("one-chain.pem")).expect("it is there");
    server.await_log("cannot read");
    assert!(is_good());
}

#[test]
fn a_handshake_that_stops_is_given_up() {
    let (authority, folder, port) = (Authority::new(), Folder::new("slow"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let server = Server::start(&config(port, &[files], "limits: {request_timeout: 2}\n"));
    for bytes in [&[][..], &BEGINNING[..]] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("it is open");
        stream.write_all(bytes).expect("it is open");
        // An end or a reset: both are the server's.
        let ended = stream.read(&mut [0]);
        assert!(!matches!(ended, Ok(1..)), "{ended:?}");
        let timed_out = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!timed_out, "the server has not closed it");
    }
    server.wait("they are counted", || {
        let metrics = server.get("/metrics");
        metrics.contains("weir_tls_handshakes_total{result=\"slow\"} 2\n")
    });
}

#[test]
fn a_client_of_http_2_that_asks_for_nothing_is_given_up() {
    let (authority, folder, port) = (Authority::new(), Folder::new("silent"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let server = Server::start(&config(port, &[files], "limits: {request_timeout: 2}\n"));
    let stream = connect(&authority.client(&["h2"]), port, "weir.example").expect("a connection");
    server.wait("it is counted", || {
        let metrics = server.get("/metrics");
        let slow = "weir_http_connections_closed_total{reason=\"slow\"} ";
        metrics.contains(slow) && !metrics.contains(&format!("{slow}0\n"))
    });
    drop(stream);
}

#[test]
fn handshakes_that_stop_keep_nobody_out() {
    let (authority, folder, port) = (Authority::new(), Folder::new("held"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let limits = "limits: {requests_per_address: 3, request_timeout: 60}\n";
    let server = Server::start(&config(port, &[files], limits));
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.write_all(&BEGINNING).expect("it is open");
        held.push(stream);
    }
    let client = authority.client(&[]);
    server.wait("a client is served", || {
        let stream = connect(&client, port, "weir.example");
        let answer = stream.and_then(|stream| get(stream, "weir.example", "/healthz"));
        answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 "))
    });
    drop(held);
}

#[test]
fn other_bytes_than_tls_are_refused() {
    let (authority, folder, port) = (Authority::new(), Folder::new("plain"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let server = Server::start(&config(port, &[files], ""));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("it is open");
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .expect("it is open");
    let mut answer = Vec::new();
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"));
    server.wait("it is counted", || {
        server
            .get("/metrics")
            .contains("weir_tls_handshakes_total{result=\"failed\"} 1\n")
    });
}
