//! `weir room`, `weir participant` and `weir call` against a server that runs.

use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Output};
use std::time::Duration;

use ports::free_port;
use serde_json::{Value, json};

use crate::server::{ONE, OTHER, Server, with_keys};

/// Statuses of the program: it failed, was denied, or there is no such thing.
const FAILED: i32 = 1;
const DENIED: i32 = 3;
const NOT_FOUND: i32 = 4;

/// A run of the program as it is.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).output().expect("the program starts")
}

/// A run of the program for an operator with a key.
fn ask(server: &Server, secret: &str, arguments: &[&str]) -> Output {
    let url = format!("http://127.0.0.1:{}", server.port());
    let key = ["--url", &url, "--api-key", "one", "--api-secret", secret];
    run(&[arguments, &key].concat())
}

/// The output of a command that is done.
fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// The error of a command that is not done for a reason of this status.
fn refused(output: &Output, status: i32) -> String {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn operators_list_show_and_remove_rooms_and_participants() {
    let server = Server::start(&with_keys(&[("one", ONE)], ""));
    assert_eq!(done(&ask(&server, ONE, &["room", "list"])).lines().count(), 1, "a head");
    let _ada = server.join("one", ONE);
    let _bob = server.join_as("bob", "one", ONE);
    let rooms = done(&ask(&server, ONE, &["room", "list"]));
    let row = rooms.lines().nth(1).expect("a room");
    assert!(
        row.starts_with("lobby ") && row.contains(" 2 ") && row.contains("RM_"),
        "{rooms}"
    );
    let room = done(&ask(&server, ONE, &["room", "show", "lobby"]));
    assert!(
        room.contains("\nada ") && room.contains("\nbob ") && room.contains("2 of "),
        "{room}"
    );
    let people = done(&ask(&server, ONE, &["participant", "list", "lobby"]));
    assert_eq!(people.lines().count(), 3, "{people}");
    let ada = done(&ask(&server, ONE, &["participant", "show", "lobby", "ada"]));
    assert!(
        ada.contains("identity  ada") && ada.contains("Publishes") && ada.contains("Receives"),
        "{ada}"
    );
    let json: Value = serde_json::from_str(&done(&ask(&server, ONE, &["room", "list", "--json"]))).expect("JSON");
    assert_eq!(json["rooms"][0]["name"], "lobby");

    done(&ask(&server, ONE, &["participant", "remove", "lobby", "bob"]));
    let gone = ask(&server, ONE, &["participant", "show", "lobby", "bob"]);
    assert!(refused(&gone, NOT_FOUND).contains("participant does not exist"));
    done(&ask(&server, ONE, &["room", "remove", "lobby"]));
    let gone = ask(&server, ONE, &["room", "show", "lobby"]);
    assert!(refused(&gone, NOT_FOUND).contains("there is no room lobby"));
    for command in [["participant", "list", "lobby"], ["room", "remove", "lobby"]] {
        refused(&ask(&server, ONE, &command), NOT_FOUND);
    }
}

#[test]
fn operators_without_the_key_are_denied() {
    let server = Server::start(&with_keys(&[("one", ONE)], ""));
    let _ada = server.join("one", ONE);
    for command in [
        &["room", "list"][..],
        &["room", "show", "lobby"],
        &["room", "remove", "lobby"],
        &["participant", "list", "lobby"],
        &["participant", "show", "lobby", "ada"],
        &["participant", "remove", "lobby", "ada"],
    ] {
        let error = refused(&ask(&server, OTHER, command), DENIED);
        assert!(error.contains("--key-file") && !error.contains(OTHER), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let rooms = done(&ask(&server, ONE, &["room", "list"]));
    assert!(rooms.contains("lobby"), "nothing was removed: {rooms}");
}

#[test]
fn operators_learn_that_there_is_no_server() {
    let url = format!("http://127.0.0.1:{}", free_port());
    let key = ["--api-key", "one", "--api-secret", ONE];
    let error = refused(&run(&[&["room", "list", "--url", &url][..], &key].concat()), FAILED);
    assert!(error.contains("--url names"), "{error}");
    let error = refused(
        &run(&[&["room", "list", "--url", "ftp://a"][..], &key].concat()),
        FAILED,
    );
    assert!(error.contains("no `http:`"), "{error}");
    // Something else that listens.
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", other.local_addr().expect("it has one"));
    std::thread::spawn(move || drop(other.accept()));
    refused(&run(&[&["room", "list", "--url", &url][..], &key].concat()), FAILED);
}

#[test]
fn operators_see_names_that_steer_no_terminal() {
    let server = Server::start(&with_keys(&[("one", ONE)], ""));
    let _evil = server.join_as("eve\u{202e}\u{1b}[2J\u{7}", "one", ONE);
    for command in [&["participant", "list", "lobby"][..], &["room", "show", "lobby"]] {
        let text = done(&ask(&server, ONE, command));
        assert!(text.contains("eve\\u{202e}\\u{1b}[2J\\u{7}"), "{text:?}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{text:?}");
    }
    let error = refused(&ask(&server, ONE, &["room", "show", "\u{1b}[2Jroom"]), NOT_FOUND);
    assert!(!error.contains('\u{1b}'), "{error:?}");
}

/// A relay of calls with a call, and the address of its control port.
fn relay() -> (Server, String, String) {
    let [ng, http] = [(); 2].map(|()| free_port());
    let server = Server::start(&with_keys(
        &[("one", ONE)],
        &format!(
            "sip:\n  ng: {{listen: '127.0.0.1:{ng}', http: '127.0.0.1:{http}'}}\n  \
             interfaces: [{{address: 127.0.0.1, ports: 31100-31139}}]\n"
        ),
    ));
    let proxy = UdpSocket::bind("127.0.0.1:0").expect("a port");
    proxy.connect(("127.0.0.1", ng)).expect("an address");
    proxy.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    let sdp = |port: u16| {
        format!("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\n")
    };
    for (command, port) in [("offer", 40_000), ("answer", 40_002)] {
        let request = json!({
            "command": command,
            "call-id": "a84b\u{1b}4c",
            "from-tag": "tag-ada",
            "to-tag": if command == "answer" { "tag-bob" } else { "" },
            "sdp": sdp(port),
        });
        proxy
            .send(format!("{command} {request}").as_bytes())
            .expect("it is sent");
        let mut buffer = [0; 4_000];
        let len = proxy.recv(&mut buffer).expect("a reply");
        let reply = String::from_utf8_lossy(&buffer[..len]).into_owned();
        assert!(reply.contains("\"ok\""), "{reply}");
    }
    (server, format!("127.0.0.1:{ng}"), format!("http://127.0.0.1:{http}"))
}

#[test]
fn operators_list_show_and_remove_calls() {
    let (_server, ng, http) = relay();
    for address in [&ng, &http] {
        let calls = done(&run(&["call", "list", "--ng", address]));
        assert!(
            calls.contains("a84b\\u{1b}4c") && !calls.contains('\u{1b}'),
            "{calls:?}"
        );
        let call = done(&run(&["call", "show", "a84b\u{1b}4c", "--ng", address]));
        assert!(call.contains("tag-ada") && call.contains("tag-bob"), "{call}");
        assert!(
            call.contains("127.0.0.1:40000") && call.contains("127.0.0.1:40002"),
            "{call}"
        );
        let json = done(&run(&["call", "list", "--json", "--ng", address]));
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["calls"][0]["call-id"], "a84b\u{1b}4c");
        for command in ["show", "remove"] {
            let error = refused(&run(&["call", command, "another", "--ng", address]), NOT_FOUND);
            assert!(
                error.contains("no call another") || error.contains("no such call"),
                "{error}"
            );
        }
    }
    done(&run(&["call", "remove", "a84b\u{1b}4c", "--ng", &ng]));
    assert_eq!(
        done(&run(&["call", "list", "--ng", &http])).lines().count(),
        1,
        "a head"
    );
}

#[test]
fn operators_learn_that_no_relay_answers() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("it has one").to_string();
    let error = refused(&run(&["call", "list", "--ng", &address]), DENIED);
    assert!(error.contains("sip.allow"), "{error}");
    let closed = format!("127.0.0.1:{}", free_port());
    let error = refused(&run(&["call", "list", "--ng", &closed]), FAILED);
    assert!(error.contains("`sip.ng`"), "{error}");
}
