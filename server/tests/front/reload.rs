//! SIGHUP, and SIGTERM after it.

use std::io::{Read, Write};
use std::net::TcpListener;

use rustix::process::Signal;

use crate::server::{ONE, OTHER, Server, is_served, with_keys};

#[test]
fn keys_are_taken_over_and_participants_stay() {
    let mut server = Server::start(&with_keys(&[("one", ONE), ("two", ONE)], ""));
    let mut participant = server.join("one", ONE);
    assert!(is_served(&mut participant));
    assert_eq!(
        (server.validate("one", ONE), server.validate("three", OTHER)),
        (200, 401)
    );

    server.reload(&with_keys(&[("two", OTHER), ("three", OTHER)], ""));
    server.await_log("configuration reloaded");
    assert_eq!(server.validate("one", ONE), 401, "a removed key");
    assert_eq!(server.validate("two", ONE), 401, "a replaced secret");
    assert_eq!(
        (server.validate("two", OTHER), server.validate("three", OTHER)),
        (200, 200)
    );
    assert!(is_served(&mut participant), "participants stay connected");

    server.signal(Signal::TERM);
    assert!(server.await_end());
}

#[test]
fn limits_of_api_keys_hold_and_are_taken_over() {
    let keys = [("one", ONE), ("two", OTHER)];
    let server = Server::start(&with_keys(&keys, "quotas: {keys: {one: {participants: 0}}}\n"));
    assert_eq!((server.validate("one", ONE), server.validate("two", OTHER)), (429, 200));
    server.reload(&with_keys(
        &keys,
        "quotas: {default: {rooms: 0}, keys: {one: {participants: 1}}}\n",
    ));
    server.await_log("configuration reloaded");
    assert_eq!((server.validate("one", ONE), server.validate("two", OTHER)), (200, 429));
}

#[test]
fn settings_that_need_a_restart_are_named_and_others_are_applied() {
    let server = Server::start(&with_keys(&[("one", ONE)], "metrics: {token: 0123456789abcdef}\n"));
    assert_eq!(server.status("/metrics"), 401);
    let changed =
        "log: {level: \"info,weir=debug\"}\nroom: {auto_create: false, max_participants: 7}\naudio: {loudest: 3}\n";
    server.reload(&with_keys(&[("one", ONE)], changed));
    for name in ["room.auto_create", "room.max_participants", "audio.loudest"] {
        server.await_log(&format!("only a restart takes it over setting=\"{name}\""));
    }
    server.await_log("configuration reloaded");
    assert_eq!(server.status("/metrics"), 200, "there is no token any more");
    assert_eq!(server.validate("one", "wrong"), 401);
    server.await_log("DEBUG");
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing() {
    let server = Server::start(&with_keys(&[("one", ONE)], ""));
    for (broken, why) in [
        ("keys: [\n", "weir.yaml"),
        ("keys: {one: short}\n", "shorter than 32 characters"),
        ("", "no API keys"),
        ("keyz: {}\n", "keyz"),
    ] {
        server.reload(broken);
        server.await_log(why);
        assert_eq!(server.validate("one", ONE), 200, "{broken}");
    }
    let loud = with_keys(&[("two", OTHER)], "log: {level: \"weir=loud\"}\n");
    server.reload(&loud);
    server.await_log("weir=loud");
    assert_eq!((server.validate("one", ONE), server.validate("two", OTHER)), (200, 401));
}

#[test]
fn keys_in_a_folder_are_taken_over_when_it_changes() {
    let folder = std::env::temp_dir().join(format!("weir-front-keys-{}", std::process::id()));
    // As Kubernetes mounts a secret: all files change at once with the target of one link.
    let version = |name: &str, keys: &[(&str, &str)]| {
        std::fs::create_dir_all(folder.join(name)).expect("a folder");
        for (key, secret) in keys {
            std::fs::write(folder.join(name).join(key), secret).expect("a file");
        }
        let link = folder.join("..new");
        std::os::unix::fs::symlink(name, &link).expect("a link");
        std::fs::rename(link, folder.join("..data")).expect("they are in one folder");
        for (key, _) in keys {
            let _ = std::os::unix::fs::symlink(format!("..data/{key}"), folder.join(key));
        }
    };
    version("..1", &[("one", ONE), ("two", ONE)]);
    let server = Server::start(&format!("key_file: {}\n", folder.display()));
    let mut participant = server.join("one", ONE);
    assert_eq!(
        (server.validate("one", ONE), server.validate("three", OTHER)),
        (200, 401)
    );

    version("..2", &[("two", OTHER), ("three", OTHER)]);
    server.await_log("API keys reloaded");
    // It may have read one file before the change and another one after it.
    let keys = [("one", ONE), ("two", ONE), ("two", OTHER), ("three", OTHER)];
    server.wait("the keys are the new ones", || {
        keys.map(|(key, secret)| server.validate(key, secret)) == [401, 401, 200, 200]
    });
    assert!(is_served(&mut participant), "participants stay connected");

    version("..3", &[("two", "short"), ("three", OTHER)]);
    server.await_log("the API keys stay as they were");
    assert_eq!(server.validate("two", OTHER), 200);
    std::fs::remove_dir_all(&folder).expect("it is there");
}

/// The body of the next webhook that arrives here.
fn webhook(receiver: &TcpListener) -> String {
    let (mut stream, _) = receiver.accept().expect("a connection");
    let mut request = String::new();
    let mut part = [0; 4096];
    while !request.ends_with('}') {
        let read = stream.read(&mut part).expect("it sends");
        assert_ne!(read, 0, "a webhook is whole");
        request += std::str::from_utf8(&part[..read]).expect("it is text");
    }
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("it reads");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.contains("application/webhook+json"), "{head}");
    body.to_owned()
}

#[test]
fn receivers_of_webhooks_are_taken_over_and_learn_of_the_end() {
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", receiver.local_addr().expect("bound"));
    let mut server = Server::start(&with_keys(&[("one", ONE)], ""));
    let webhooks = format!("webhook: {{api_key: one, urls: ['{url}']}}\n");
    server.reload(&with_keys(&[("two", OTHER)], &webhooks));
    server.await_log("there is no API key one");
    server.reload(&with_keys(&[("one", ONE)], &webhooks));
    server.await_log("configuration reloaded");
    let _participant = server.join("one", ONE);
    assert!(webhook(&receiver).contains("\"room_started\""));
    server.signal(Signal::TERM);
    for event in ["participant_connection_aborted", "room_finished"] {
        let body = webhook(&receiver);
        assert!(body.contains(event), "{event}: {body}");
    }
    assert!(server.await_end());
}
