//! A client and the server, message by message.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use access::{TurnCredentials, TurnSecret};
use is::stun::{StunMessage, StunMessageBuilder, TransId};
use md5::{Digest, Md5};

use crate::message::hmac_sha1;
use crate::{Client, Family, Outcome, Server, Times};

const MEDIA: &str = "192.0.2.1:7882";
const RELAYED: &str = "192.0.2.1:50000";
const CLIENT: &str = "198.51.100.7:4000";

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A client with credentials.
struct World {
    server: Server,
    client: Client,
    times: Times,
    credentials: TurnCredentials,
    nonce: String,
    /// How many ports were opened.
    opened: usize,
}

impl World {
    fn new() -> Self {
        let (secret, unix) = (TurnSecret::new("north"), Duration::from_secs(1_700_000_000));
        let server = Server::new("weir", secret.clone(), &[7; 32], vec![address(MEDIA)]);
        let mut world = World {
            server,
            client: Client::new(address(CLIENT)),
            times: Times {
                now: Instant::now(),
                unix,
            },
            credentials: secret.credentials("PA_1", unix + Duration::from_secs(3_600)),
            nonce: String::new(),
            opened: 0,
        };
        let asked = encode(
            StunMessageBuilder::new().allocate().request().build(TransId::new()),
            None,
        );
        let refusal = world.answer(&asked);
        let refusal = StunMessage::parse(&refusal).unwrap();
        assert_eq!(refusal.error_code(), Some((401, "")));
        assert_eq!(refusal.realm(), Some("weir"));
        world.nonce = refusal.nonce().unwrap().to_owned();
        world
    }

    fn allocated() -> Self {
        let mut world = World::new();
        assert_eq!(world.ask_code(|world, id| world.allocate(id)), None);
        world
    }

    fn receive<'a>(&mut self, bytes: &'a [u8]) -> Outcome<'a> {
        let opened = &mut self.opened;
        self.client.receive(&self.server, self.times, bytes, |family| {
            *opened += 1;
            (family == Family::V4).then(|| address(RELAYED))
        })
    }

    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        match self.receive(bytes) {
            Outcome::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// The code of the refusal of a request, which `make` writes, if it is refused.
    fn ask_code(&mut self, make: impl FnOnce(&Self, TransId) -> Vec<u8>) -> Option<u16> {
        let request = make(self, TransId::new());
        let answer = self.answer(&request);
        let answer = StunMessage::parse(&answer).unwrap();
        assert_eq!(answer.trans_id(), StunMessage::parse(&request).unwrap().trans_id());
        answer.error_code().map(|(code, _)| code)
    }

    fn key(&self) -> [u8; 16] {
        let TurnCredentials { username, password } = &self.credentials;
        Md5::digest(format!("{username}:weir:{password}")).into()
    }

    fn allocate(&self, id: TransId) -> Vec<u8> {
        let message = StunMessageBuilder::new().allocate().request();
        let message = message
            .username(&self.credentials.username)
            .realm("weir")
            .nonce(&self.nonce);
        encode(message.build(id), Some(&self.key()))
    }

    fn refresh(&self, id: TransId, lifetime: u32) -> Vec<u8> {
        let message = StunMessageBuilder::new().refresh().request().lifetime(lifetime);
        let message = message
            .username(&self.credentials.username)
            .realm("weir")
            .nonce(&self.nonce);
        encode(message.build(id), Some(&self.key()))
    }

    fn permit(&self, id: TransId, peer: &str) -> Vec<u8> {
        let message = StunMessageBuilder::new().create_permission().request();
        let message = message.xor_peer_address(address(peer));
        let message = message
            .username(&self.credentials.username)
            .realm("weir")
            .nonce(&self.nonce);
        encode(message.build(id), Some(&self.key()))
    }

    fn bind(&self, id: TransId, channel: u16, peer: &str) -> Vec<u8> {
        let message = StunMessageBuilder::new().channel_bind().request();
        let message = message.channel_number(channel).xor_peer_address(address(peer));
        let message = message
            .username(&self.credentials.username)
            .realm("weir")
            .nonce(&self.nonce);
        encode(message.build(id), Some(&self.key()))
    }
}

fn encode(message: StunMessage<'_>, key: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0; 2_048];
    let len = message.to_bytes(key, &mut bytes, hmac_sha1).unwrap();
    bytes.truncate(len);
    bytes
}

fn sent(peer: &str, data: &[u8]) -> Vec<u8> {
    let message = StunMessageBuilder::new().send().indication();
    let message = message.xor_peer_address(address(peer)).data(data);
    encode(message.build(TransId::new()), None)
}

#[test]
fn an_allocation_has_a_relayed_address_until_it_is_given_up() {
    let mut world = World::new();
    let request = world.allocate(TransId::new());
    let first = world.answer(&request);
    let answer = StunMessage::parse(&first).unwrap();
    assert!(answer.verify(&world.key(), hmac_sha1));
    assert_eq!(answer.xor_relayed_address(), Some(address(RELAYED)));
    assert_eq!(answer.mapped_address(), Some(address(CLIENT)));
    assert_eq!(answer.lifetime(), Some(600));
    assert_eq!(world.client.relayed(), Some(address(RELAYED)));
    assert_eq!(world.answer(&request), first, "the same request again");
    assert_eq!(world.ask_code(|world, id| world.allocate(id)), Some(437));
    assert_eq!(world.opened, 1);
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 7_200)), None);
    assert_eq!(world.client.due(), Some(world.times.now + Duration::from_secs(3_600)));
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 0)), None);
    assert_eq!(world.client.relayed(), None);
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 0)), None, "once more");
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), Some(437));
}

#[test]
fn an_address_is_admitted_with_a_nonce_that_it_has_received() {
    let world = World::new();
    let (unix, client) = (world.times.unix, address(CLIENT));
    let request = world.allocate(TransId::new());
    assert!(world.server.admits(unix, client, &request));
    assert!(!world.server.admits(unix, address("198.51.100.8:4000"), &request));
    let late = unix + Duration::from_secs(3_600);
    assert!(!world.server.admits(late, client, &request));
    assert!(!world.server.admits(unix, client, &world.refresh(TransId::new(), 600)));
    let asked = StunMessageBuilder::new().allocate().request().build(TransId::new());
    assert!(!world.server.admits(unix, client, &encode(asked, None)));
    assert!(!world.server.admits(unix, client, b"\0\x03"));
}

#[test]
fn an_allocation_that_is_not_refreshed_expires() {
    let mut world = World::allocated();
    world.times.now += Duration::from_secs(599);
    assert!(matches!(world.receive(&sent(MEDIA, b"x")), Outcome::Forward { .. }));
    world.times.now += Duration::from_secs(1);
    assert_eq!(world.receive(&sent(MEDIA, b"x")), Outcome::Nothing);
    assert_eq!(world.client.relayed(), None);
}

#[test]
fn credentials_have_to_be_valid_and_the_allocations_own() {
    let mut world = World::allocated();
    let nonce = std::mem::replace(&mut world.nonce, "0".repeat(24));
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), Some(438));
    world.nonce = nonce;
    let other = TurnSecret::new("north").credentials("PA_2", world.times.unix + Duration::from_secs(60));
    let own = std::mem::replace(&mut world.credentials, other);
    for lifetime in [0, 600] {
        assert_eq!(world.ask_code(|world, id| world.refresh(id, lifetime)), Some(441));
    }
    world.credentials = own;
    world.credentials.password.push('x');
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), Some(401));
    world.credentials.password.pop();
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), None);
    world.times.unix += Duration::from_secs(3_600);
    assert_eq!(
        world.ask_code(|world, id| world.refresh(id, 600)),
        Some(401),
        "too late"
    );
}

#[test]
fn nothing_is_relayed_to_or_from_anybody_else() {
    let mut world = World::allocated();
    assert_eq!(world.ask_code(|world, id| world.permit(id, MEDIA)), None);
    for other in ["10.0.0.1:7882", "127.0.0.1:7882", "203.0.113.9:53", "[::1]:7882"] {
        assert_eq!(
            world.ask_code(|world, id| world.permit(id, other)),
            Some(403),
            "{other}"
        );
        assert_eq!(
            world.ask_code(|world, id| world.bind(id, 0x4000, other)),
            Some(403),
            "{other}"
        );
        assert_eq!(world.receive(&sent(other, b"x")), Outcome::Nothing, "{other}");
        assert_eq!(
            world.client.receive_from_peer(&world.server, address(other), b"x"),
            None
        );
    }
    // Another port of the same machine.
    assert_eq!(
        world.ask_code(|world, id| world.bind(id, 0x4000, "192.0.2.1:22")),
        Some(403)
    );
    assert_eq!(world.receive(&sent("192.0.2.1:22", b"x")), Outcome::Nothing);
}

#[test]
fn datagrams_pass_by_indications_and_by_channels() {
    let mut world = World::allocated();
    let expected = Outcome::Forward {
        peer: address(MEDIA),
        data: b"up",
    };
    assert_eq!(world.receive(&sent(MEDIA, b"up")), expected);
    let down = world
        .client
        .receive_from_peer(&world.server, address(MEDIA), b"down")
        .unwrap();
    let down = StunMessage::parse(&down).unwrap();
    assert_eq!(
        (down.xor_peer_address(), down.data()),
        (Some(address(MEDIA)), Some(&b"down"[..]))
    );

    let up = [0x40, 0, 0, 2, b'u', b'p', 0, 0];
    assert_eq!(world.receive(&up), Outcome::Nothing, "no channel yet");
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4000, MEDIA)), None);
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4000, MEDIA)), None, "again");
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4001, MEDIA)), Some(400));
    assert_eq!(world.receive(&up), expected);
    let down = world
        .client
        .receive_from_peer(&world.server, address(MEDIA), b"down")
        .unwrap();
    assert_eq!(down, [0x40, 0, 0, 4, b'd', b'o', b'w', b'n']);
    assert_eq!(world.receive(&[0x40, 0, 0, 9, 1]), Outcome::Nothing, "cut off");
}

#[test]
fn nobody_without_credentials_gets_much() {
    let mut world = World::new();
    let asked = encode(
        StunMessageBuilder::new().allocate().request().build(TransId::new()),
        None,
    );
    let answer = world.answer(&asked);
    assert!(answer.len() <= 100, "{} bytes for {}", answer.len(), asked.len());
    for bytes in [
        &b""[..],
        b"x",
        b"GET / HTTP/1.1",
        &[0; 20],
        &[0x40, 0, 0, 4, 1, 2, 3, 4],
    ] {
        assert_eq!(world.receive(bytes), Outcome::Nothing, "{bytes:?}");
    }
    assert_eq!(world.receive(&sent(MEDIA, b"x")), Outcome::Nothing);
    assert_eq!(world.opened, 0);
}
