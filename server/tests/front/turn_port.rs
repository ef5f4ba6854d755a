//! The TURN server's ports, as a stranger finds them.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use ports::free_port;

use crate::server::Server;

/// A request for an allocation without credentials.
const ALLOCATE: [u8; 20] = [
    0, 3, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];

/// Whether this answer asks for credentials.
fn is_challenge(answer: &[u8]) -> bool {
    answer.starts_with(&[1, 0x13]) && answer[4..20] == ALLOCATE[4..20]
}

#[test]
fn turn_is_served_over_udp_and_tcp() {
    let port = free_port();
    let _server = Server::start(&format!(
        "keys: {{one: 0123456789abcdef0123456789abcdef}}\nturn: {{port: {port}}}\n"
    ));
    let at = ("127.0.0.1", port);
    let mut buffer = [0; 2_000];
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&ALLOCATE).unwrap();
    stream.read_exact(&mut buffer[..20]).unwrap();
    assert!(is_challenge(&buffer[..20]), "{:?}", &buffer[..20]);

    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let answered = (0..40).any(|_| {
        socket.send_to(&ALLOCATE, at).unwrap();
        matches!(socket.recv(&mut buffer), Ok(len) if len >= 20 && is_challenge(&buffer[..len]))
    });
    assert!(answered);
}
