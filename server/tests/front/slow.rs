//! Requests that are never whole: the answer of their protocol, and an end.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use access::{ApiKeys, Claims, VideoGrant, sign};

use crate::server::{Server, is_served};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// The time is also that of the bystander's requests, on a machine that is busy.
const CONFIG: &str = "keys: {one: 0123456789abcdef0123456789abcdef}\nlimits: {request_timeout: 4}\n";
const SDP: &str = "application/sdp";
const FRAGMENT: &str = "application/trickle-ice-sdpfrag";

/// A request with a body of which the first bytes come.
struct Slow {
    line: &'static str,
    content_type: &'static str,
    body: &'static str,
    /// The beginning of the answer's body.
    answer: &'static str,
}

const REQUESTS: [Slow; 6] = [
    Slow {
        line: "POST /twirp/livekit.RoomService/ListRooms",
        content_type: "application/json",
        body: "{",
        answer: "{\"code\":\"deadline_exceeded\"",
    },
    Slow {
        line: "POST /twirp/livekit.AgentDispatchService/ListDispatch",
        content_type: "application/protobuf",
        body: "\n",
        answer: "{\"code\":\"deadline_exceeded\"",
    },
    Slow {
        line: "POST /whip/v1",
        content_type: SDP,
        body: "v=0\r\n",
        answer: "",
    },
    Slow {
        line: "POST /whep/v1?participant=ben",
        content_type: SDP,
        body: "v=0\r\n",
        answer: "",
    },
    Slow {
        line: "PATCH /whip/v1/PA_nobody",
        content_type: FRAGMENT,
        body: "a=ice-lite\r\n",
        answer: "",
    },
    Slow {
        line: "PATCH /whep/v1/PA_nobody",
        content_type: FRAGMENT,
        body: "a=ice-lite\r\n",
        answer: "",
    },
];

impl Slow {
    /// Sends as much of it as ever comes.
    fn begin(&self, server: &Server, token: &str) -> TcpStream {
        let mut stream = server.connect();
        let Self {
            line,
            content_type,
            body,
            ..
        } = self;
        let head = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: {content_type}\r\n\
             content-length: 1000\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        stream
    }
}

/// Everything that comes until the server closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // The connection may also be reset.
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is not closed");
    }
    // The end of a WebSocket is no text.
    String::from_utf8_lossy(&answer).into_owned()
}

/// A token that may do everything that the requests need.
fn token() -> String {
    let claims = Claims {
        iss: "one".to_owned(),
        sub: "mallory".to_owned(),
        exp: Some(4_000_000_000),
        video: VideoGrant {
            room_join: true,
            room: "lobby".to_owned(),
            room_admin: true,
            room_list: true,
            agent: true,
            ..VideoGrant::default()
        },
        ..Claims::default()
    };
    sign(&claims, &ApiKeys::default().with("one", SECRET)).expect("the key is there")
}

#[test]
fn a_body_that_does_not_come_gets_an_answer_of_its_protocol() {
    let server = Server::start(CONFIG);
    let mut bystander = server.join("one", SECRET);
    let token = token();
    let slow = REQUESTS.map(|request| (request.begin(&server, &token), request));
    assert!(is_served(&mut bystander));
    for (stream, request) in slow {
        let answer = rest(stream);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.starts_with("HTTP/1.1 408 "), "{}: {answer}", request.line);
        assert!(body.starts_with(request.answer), "{}: {answer}", request.line);
    }
    let mut stream = server.connect();
    // It fails as soon as the server has read enough.
    let _ = write!(stream, "GET /rtc?access_token={}", "a".repeat(4 << 20));
    let answer = rest(stream);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    assert!(is_served(&mut bystander));
}

#[test]
fn a_client_that_closes_its_half_is_let_go() {
    let server = Server::start(CONFIG);
    let mut bystander = server.join("one", SECRET);
    let token = token();
    let mut streams: Vec<_> = REQUESTS.iter().map(|request| request.begin(&server, &token)).collect();
    let upgrade = format!(
        "GET /agent HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: Upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\n"
    );
    let key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    // Within the header, after it, and within the first frame.
    for sent in [
        upgrade.clone(),
        format!("{upgrade}{key}"),
        format!("{upgrade}{key}\u{2}"),
    ] {
        let mut stream = server.connect();
        stream.write_all(sent.as_bytes()).expect("it reads");
        streams.push(stream);
    }
    for stream in &streams {
        stream.shutdown(Shutdown::Write).expect("it is open");
    }
    for answer in streams.into_iter().map(rest) {
        let status = answer.split(' ').nth(1).unwrap_or("400");
        assert!(status.starts_with('4') || status == "101", "{answer}");
    }
    assert!(is_served(&mut bystander));
    server.wait("it is well", || server.status("/healthz") == 200);
}
