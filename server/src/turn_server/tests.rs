//! Strangers at the ports, and the addresses of peers.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use turn::PortRequest;

use super::ports::Asker;
use super::*;

/// A request for an allocation without credentials.
const ALLOCATE: [u8; 20] = [
    0, 3, 0, 0, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
];
/// A request for a refresh without credentials.
const REFRESH: [u8; 20] = {
    let mut request = ALLOCATE;
    request[1] = 4;
    request
};
const PATIENCE: Duration = Duration::from_secs(20);

fn server() -> Arc<TurnServer> {
    let peer = Peer {
        advertised: "203.0.113.7:7882".parse().unwrap(),
        local: "127.0.0.1:7882".parse().unwrap(),
    };
    Arc::new(TurnServer::new(TurnSecret::new("north"), &[7; 32], vec![peer]))
}

/// Whether this answer asks for credentials for an allocation.
fn is_challenge(answer: &[u8]) -> bool {
    is_challenge_of(ALLOCATE[1], answer)
}

/// Whether this answer asks for credentials for a request of this method.
fn is_challenge_of(method: u8, answer: &[u8]) -> bool {
    let is_answer = answer.starts_with(&[1, 0x10 | method]) && answer[8..20] == ALLOCATE[8..20];
    is_answer && answer.windows(4).any(|part| part == b"weir")
}

#[tokio::test]
async fn strangers_are_asked_for_credentials_over_udp() {
    let server = server();
    let socket = Arc::new(udp::bind_shared("127.0.0.1:0".parse().unwrap()).unwrap());
    let at = socket.local_addr().unwrap();
    tokio::spawn(datagrams::serve(server.clone(), socket));
    // A stranger has no place among the limits.
    for number in 0..4 {
        let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        // Only a request is answered.
        client.send_to(b"hello", at).await.unwrap();
        let method = if number == 0 { REFRESH } else { ALLOCATE };
        let answer = ask(&client, at, &method).await;
        assert!(is_challenge_of(method[1], &answer), "{answer:?}");
    }
}

/// A request for the own address.
const BINDING: [u8; 20] = {
    let mut request = ALLOCATE;
    request[1] = 1;
    request
};

#[tokio::test]
async fn everybody_is_told_the_own_address_over_udp_and_tcp() {
    let server = server();
    let socket = Arc::new(udp::bind_shared("127.0.0.1:0".parse().unwrap()).unwrap());
    let at = socket.local_addr().unwrap();
    tokio::spawn(datagrams::serve(server.clone(), socket));
    let client = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let answer = ask(&client, at, &BINDING).await;
    let id = BINDING[8..].try_into().unwrap();
    let mapped = wire::stun::mapped_address(&answer, &id);
    assert_eq!(mapped, Some(client.local_addr().unwrap()));

    let listener = tcp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(streams::serve(server, listener));
    let mut client = TcpStream::connect(at).await.unwrap();
    client.write_all(&BINDING).await.unwrap();
    let mut answer = [0; 32];
    tokio::time::timeout(PATIENCE, client.read_exact(&mut answer))
        .await
        .unwrap()
        .unwrap();
    let mapped = wire::stun::mapped_address(&answer, &id);
    assert_eq!(mapped, Some(client.local_addr().unwrap()));
}

#[tokio::test]
async fn an_even_port_is_followed_by_the_one_of_its_token() {
    let server = server();
    let evicted = Arc::new(Notify::new());
    let asker = |user| Asker {
        user,
        address: "192.0.2.1".parse().unwrap(),
        evicted: &evicted,
    };
    let request = PortRequest::Even {
        family: Family::V4,
        reserve_next: true,
    };
    let now = clock::now();
    let (even, opened) = ports::open(&server, &asker("ada"), request, now).unwrap();
    assert_eq!(opened.relayed.port() % 2, 0);
    let reserved = PortRequest::Reserved(opened.token.unwrap());
    assert!(
        ports::open(&server, &asker("bob"), reserved, now).is_err(),
        "another user"
    );
    let (next, opened) = ports::open(&server, &asker("ada"), reserved, now).unwrap();
    assert_eq!(opened.relayed.port(), even.relayed.port() + 1);
    assert!(ports::open(&server, &asker("ada"), reserved, now).is_err(), "twice");
    drop((even, next));
    let (_even, opened) = ports::open(&server, &asker("ada"), request, now).unwrap();
    let late = now + turn::limits::RESERVED_FOR;
    let reserved = PortRequest::Reserved(opened.token.unwrap());
    assert!(ports::open(&server, &asker("ada"), reserved, late).is_err(), "too late");
}

/// The answer to a request, which is repeated until there is one.
async fn ask(client: &UdpSocket, at: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 2_000];
    for _ in 0..100 {
        client.send_to(request, at).await.unwrap();
        let received = client.recv_from(&mut buffer);
        if let Ok(received) = tokio::time::timeout(Duration::from_millis(200), received).await {
            return buffer[..received.unwrap().0].to_vec();
        }
    }
    panic!("there is no answer");
}

#[tokio::test]
async fn strangers_are_asked_for_credentials_over_tcp() {
    let server = server();
    let listener = tcp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(streams::serve(server.clone(), listener));
    let mut client = TcpStream::connect(at).await.unwrap();
    let mut buffer = [0; 2_000];
    for part in ALLOCATE.chunks(7) {
        client.write_all(part).await.unwrap();
    }
    let received = tokio::time::timeout(PATIENCE, client.read(&mut buffer));
    let len = received.await.unwrap().unwrap();
    assert!(is_challenge(&buffer[..len]), "{:?}", &buffer[..len]);

    let mut other = TcpStream::connect(at).await.unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, other.read(&mut buffer)).await.unwrap();
    assert!(matches!(ended, Ok(0) | Err(_)), "another protocol");
    let silent = tokio::time::timeout(PATIENCE, client.read(&mut buffer)).await.unwrap();
    assert!(matches!(silent, Ok(0)), "no allocation in time");
}

#[test]
fn peers_are_known_by_both_addresses() {
    let server = server();
    let access = server.access();
    let Peer { advertised, local } = access.peers[0];
    assert_eq!(access.local_of(advertised), Some(local));
    assert_eq!(access.local_of(local), None);
    assert_eq!(access.advertised_of(local), Some(advertised));
    let mapped = "[::ffff:127.0.0.1]:7882".parse().unwrap();
    assert_eq!(access.advertised_of(mapped), Some(advertised));
    assert_eq!(access.advertised_of("127.0.0.1:7881".parse().unwrap()), None);
    server.set_peers(Vec::new());
    assert_eq!(server.access().local_of(advertised), None);
}

#[test]
fn clients_are_told_of_each_address_over_both_protocols() {
    let addresses = ["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()];
    let expected = [
        "turn:192.0.2.1:3478?transport=udp",
        "turn:192.0.2.1:3478?transport=tcp",
        "turn:[2001:db8::1]:3478?transport=udp",
        "turn:[2001:db8::1]:3478?transport=tcp",
    ];
    assert_eq!(urls(&addresses, 3478), expected);
}
