//! Access to the control protocols, and their addresses.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Error, HandshakeError, Message, WebSocket};

use crate::phone::Phone;
use crate::program::{Program, get, request};
use crate::proxy::Proxy;

#[test]
fn ng_works_over_tcp_and_http() {
    let program = Program::start("");
    let mut stream = TcpStream::connect(("127.0.0.1", program.ng)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(3))).expect("a time");
    stream.write_all(b"1_1 d7:command4:pi").expect("it reads");
    stream.write_all(b"nge1_2 d7:command4:pinge").expect("it reads");
    let expected = b"1_1 d6:result4:ponge1_2 d6:result4:ponge";
    let mut reply = vec![0; expected.len()];
    stream.read_exact(&mut reply).expect("two answers");
    assert_eq!(reply, expected);

    assert!(get(program.ng_http, "/ping").ends_with("pong\n"));
    let body = "3_3 d7:command4:pinge";
    let ng = format!(
        "POST /ng HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/x-rtpengine-ng\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(request(program.ng_http, &ng).ends_with("3_3 d6:result4:ponge"));
    let body = r#"{"command": "ping"}"#;
    let plain = format!(
        "POST /ng-plain HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(request(program.ng_http, &plain).ends_with(r#"{"result":"pong"}"#));
    assert!(get(program.ng_http, "/secrets").starts_with("HTTP/1.1 404"));
}

/// A WebSocket that speaks this subprotocol, or the status of the refusal.
fn websocket(port: u16, protocol: &str) -> Result<WebSocket<TcpStream>, u16> {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(3))).expect("a time");
    let mut request = format!("ws://127.0.0.1:{port}/ng")
        .into_client_request()
        .expect("a request");
    let protocol = protocol.parse().expect("a header");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(Error::Http(answer))) => Err(answer.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn ng_works_over_websockets() {
    let program = Program::start("");
    let mut socket = websocket(program.ng_http, "unheard.of, ng.rtpengine.com").expect("it is known");
    let mut exchange = |message: Message| {
        socket.send(message).expect("it reads");
        socket.read().expect("it answers").into_data()
    };
    assert_eq!(
        exchange("1_1 d7:command4:pinge".into()).as_ref(),
        b"1_1 d6:result4:ponge"
    );
    assert_eq!(
        exchange(Message::binary(b"1_2 {\"command\": \"ping\"}".to_vec())).as_ref(),
        b"1_2 {\"result\":\"pong\"}"
    );
    // Without a cookie there is nothing to answer; what comes next is.
    socket.send("nonsense".into()).expect("it reads");
    socket
        .send(Message::Ping(b"there?".as_slice().into()))
        .expect("it reads");
    assert_eq!(
        socket.read().expect("it answers"),
        Message::Pong(b"there?".as_slice().into())
    );
    socket.close(None).expect("it reads");
    assert!(matches!(socket.read(), Ok(Message::Close(_))));

    let mut plain = websocket(program.ng_http, "ng-plain.rtpengine.com").expect("it is known");
    let phone = Phone::new(1);
    let offer = json!({"command": "offer", "call-id": "c", "from-tag": "a", "sdp": phone.description()});
    plain.send(offer.to_string().into()).expect("it reads");
    let reply: Value = serde_json::from_slice(&plain.read().expect("it answers").into_data()).expect("JSON");
    assert_eq!(reply["result"], "ok", "{reply}");
    assert_eq!(program.open_ports(), 4);

    // No message is longer than a datagram could be.
    plain.send(Message::binary(vec![b' '; 65_536])).expect("it reads");
    let closed = plain.read().expect("it answers");
    assert!(
        matches!(&closed, Message::Close(Some(frame)) if frame.code == CloseCode::Size),
        "{closed:?}"
    );
    assert_eq!(websocket(program.ng_http, "janus-protocol").unwrap_err(), 400);
}

#[test]
fn rtpproxys_protocol_works_over_its_socket_and_a_timeout_is_notified() {
    let program = Program::start("  media_timeout: 0.5");
    let say = |line: &str| {
        let mut stream = UnixStream::connect(program.directory.join("rtpproxy.sock")).expect("it listens");
        stream.write_all(line.as_bytes()).expect("it reads");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("it answers");
        reply
    };
    assert_eq!(say("VF 20050322"), "1\n");
    assert_eq!(say("V\n"), "20040107\n");
    let path = program.directory.join("notices.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let phone = Phone::new(1);
    say(&format!(
        "U c 127.0.0.1 {} a;1 b;1 unix:{} call%20is%20over",
        phone.port(),
        path.display()
    ));
    say(&format!("L c 127.0.0.1 {} a;1 b;1", phone.port() + 1));
    let (mut stream, _) = listener.accept().expect("a notice");
    let mut notice = String::new();
    stream.read_to_string(&mut notice).expect("text");
    assert_eq!(notice, "call%20is%20over\n");
}

#[test]
fn a_proxy_that_is_not_allowed_gets_no_answer() {
    let program = Program::start("  allow: [192.0.2.0/24]");
    let mut proxy = Proxy::new(program.ng);
    assert_eq!(proxy.exchange("d7:command4:pinge"), None);
    program.await_figure("weir_sip_total{reason=\"control_denied\"}", 1.0);
}

#[test]
fn silent_control_connections_end_and_keep_nobody_out() {
    let program = Program::start("");
    let body =
        "POST /ng HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-rtpengine-ng\r\ncontent-length: 900\r\n\r\n1_1 d7";
    let kinds = [
        (program.ng, ""),
        (program.ng, "1_1 d7:command4:pi"),
        (program.ng_http, ""),
        (program.ng_http, "GET /ng HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\n"),
        (program.ng_http, body),
    ];
    // More than one address may have without having said anything.
    let silent: Vec<TcpStream> = (0..60)
        .flat_map(|_| kinds)
        .map(|(port, said)| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
            // A connection above the limit is refused at once.
            let _ = stream.write_all(said.as_bytes());
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(1_100));
    assert!(
        get(program.ng_http, "/ping").ends_with("pong\n"),
        "the oldest gives way"
    );
    for mut stream in silent {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let ended = stream.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
        assert!(matches!(ended, Ok(_) | Err(ErrorKind::ConnectionReset)), "{ended:?}");
    }
    let limited = program.figure("weir_sip_control_connections_closed_total{reason=\"address_limit\"}");
    assert!(limited >= 1.0, "{limited}");
}

#[test]
fn a_bad_setting_is_reported_at_the_start() {
    let said = Program::fail("  allow: [127.0.0.0/8]\n  max_cals: 3");
    assert!(said.contains("max_cals"), "{said}");
    let said = Program::fail("  learning: sometimes");
    assert!(said.contains("sometimes"), "{said}");
}
