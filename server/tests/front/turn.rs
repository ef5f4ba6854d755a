//! TURN beside HTTPS: the first byte after the handshake tells which of the two it is.

use std::io::{Read, Write};

use ports::free_port;

use crate::authority::{Authority, Folder, connect, get};
use crate::server::Server;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// The year of a certificate that is valid.
const LATE: i32 = 4000;

/// A request for an allocation without credentials.
const ALLOCATE: [u8; 20] = [
    0, 3, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

#[test]
fn https_and_turn_share_a_port() {
    let (authority, folder, port) = (Authority::new(), Folder::new("turn"), free_port());
    let files = folder.put("one", &authority.issue(&["weir.example"], LATE));
    let server = Server::start(&format!(
        "keys: {{one: {SECRET}}}\ntls: {{port: {port}, certificates: [{files}]}}\n\
         turn: {{tls: true, urls: ['turns:weir.example:{port}?transport=tcp']}}\n"
    ));
    let client = authority.client(&[]);
    let mut stream = connect(&client, port, "weir.example").expect("a connection");
    stream.write_all(&ALLOCATE).expect("it is sent");
    let mut answer = [0; 20];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(answer[..2], [1, 0x13], "credentials are needed");
    assert_eq!(answer[4..], ALLOCATE[4..]);
    let stream = connect(&client, port, "weir.example").expect("a connection");
    let answer = get(stream, "weir.example", "/healthz").expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let metrics = server.get("/metrics");
    assert!(metrics.contains("weir_turn_allocations 0\n"), "{metrics}");
}
