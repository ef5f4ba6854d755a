//! SIGTERM with a time to drain, and what the service manager is told.

use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

use ports::free_port;
use rustix::process::Signal;
use tungstenite::Message;

use crate::server::{ONE, Server, is_served, token, with_keys};

fn draining(limit: &str) -> String {
    with_keys(&[("one", ONE)], &format!("drain_timeout: {limit}\n"))
}

/// The server, and a participant that it drains for.
fn drain(limit: &str) -> (Server, tungstenite::WebSocket<impl std::io::Read + std::io::Write>) {
    let server = Server::start(&draining(limit));
    let mut participant = server.join("one", ONE);
    assert!(is_served(&mut participant));
    server.signal(Signal::TERM);
    server.await_log("draining");
    (server, participant)
}

#[test]
fn a_server_that_drains_serves_only_those_who_are_here_and_ends_after_them() {
    let (mut server, mut participant) = drain("600");
    server.wait("it is not ready", || server.status("/readyz") == 503);
    let answer = server.get("/readyz");
    assert!(
        answer.contains("draining\n") && answer.contains("retry-after: 5\r\n"),
        "{answer}"
    );
    assert_eq!(server.status("/healthz"), 200);
    let join = format!("/rtc/validate?access_token={}", token("bob", "one", ONE));
    server.wait("nobody joins", || server.status(&join) == 503);
    let refused = server.get(&join);
    assert!(refused.contains("retry-after: 5\r\n"), "{refused}");
    assert_eq!(server.validate_as("ada", "one", ONE), 200, "a full reconnect");
    assert!(is_served(&mut participant));

    participant.send(Message::text(r#"{"leave":{}}"#)).expect("it reads");
    assert!(server.await_end());
}

/// Whether the participant is told to reconnect, before its connection ends. It has sent JSON, so
/// that the server answers in JSON.
fn is_told_to_reconnect(participant: &mut tungstenite::WebSocket<impl std::io::Read + std::io::Write>) -> bool {
    while let Ok(message) = participant.read() {
        let text = message.to_text().unwrap_or_default();
        if text.contains("leave") {
            return text.contains("SERVER_SHUTDOWN") && text.contains("RECONNECT");
        }
    }
    false
}

#[test]
fn a_second_signal_ends_the_drain() {
    let (mut server, mut participant) = drain("600");
    server.signal(Signal::TERM);
    assert!(is_told_to_reconnect(&mut participant));
    assert!(server.await_end());
}

#[test]
fn nobody_comes_back_to_a_server_that_ends() {
    let mut server = Server::start(&draining("0"));
    let mut participant = server.join("one", ONE);
    assert!(is_served(&mut participant));
    server.signal(Signal::TERM);
    assert!(is_told_to_reconnect(&mut participant));
    assert!(!server.listens(), "its port is closed before the goodbye");
    assert!(server.await_end());
}

#[test]
fn a_drain_has_an_end_and_its_limit_can_be_changed() {
    let (mut server, mut participant) = drain("600");
    server.reload(&draining("0.1"));
    assert!(is_told_to_reconnect(&mut participant));
    assert!(server.await_end());
}

#[test]
fn the_service_manager_learns_how_the_server_does() {
    let path = std::env::temp_dir().join(format!("weir-front-notify-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let manager = UnixDatagram::bind(&path).expect("a socket");
    let told = Arc::new(Mutex::new(String::new()));
    let kept = told.clone();
    // A queue that is full would lose messages.
    std::thread::spawn(move || {
        let mut bytes = [0; 512];
        while let Ok(len) = manager.recv(&mut bytes) {
            let message = String::from_utf8_lossy(&bytes[..len]);
            kept.lock()
                .expect("nobody panics with it")
                .push_str(&format!("{message}\n"));
        }
    });
    let count = |line: &str| told.lock().expect("whole").matches(line).count();

    let mut server = Server::start_in(free_port(), &draining("600"), |command| {
        command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "300000");
    });
    server.wait("ready", || count("READY=1") == 1 && count("WATCHDOG=1") > 1);
    let _participant = server.join("one", ONE);
    assert_eq!(count("EXTEND_TIMEOUT_USEC") + count("STOPPING"), 0);
    server.signal(Signal::TERM);
    server.wait("it drains", || count("draining: 1 participants") > 0);
    assert!(count("EXTEND_TIMEOUT_USEC=") > 0);
    let alive = count("WATCHDOG=1");
    server.wait("it is alive meanwhile", || count("WATCHDOG=1") > alive);
    server.signal(Signal::TERM);
    server.wait("it ends", || count("STOPPING=1") == 1);
    assert!(server.await_end());
    std::fs::remove_file(&path).expect("it is there");
}
