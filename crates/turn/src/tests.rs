//! A client and the server, message by message.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use access::{TurnCredentials, TurnSecret};
use is::stun::{StunMessage, StunMessageBuilder, TransId};
use md5::{Digest, Md5};

use crate::encoding::hmac_sha1;
use crate::{Client, Family, Opened, Outcome, PortRequest, Refusal, Server, Times, encode, sign};

mod requests;
mod strangers;

const MEDIA: &str = "192.0.2.1:7882";
const RELAYED: &str = "192.0.2.1:50000";
const CLIENT: &str = "198.51.100.7:4000";
/// REQUESTED-TRANSPORT.
const REQUESTED_UDP: [u8; 8] = [0, 0x19, 0, 4, 17, 0, 0, 0];

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
    /// How many ports were opened, and may be.
    opened: usize,
    quota: usize,
    /// The requests for ports.
    asked: Vec<PortRequest>,
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
            quota: usize::MAX,
            asked: Vec::new(),
        };
        let asked = encode(
            StunMessageBuilder::new().allocate().request().build(TransId::new()),
            None,
        );
        let refusal = world.answer(&asked);
        let refusal = StunMessage::parse(&refusal).unwrap();
        assert_eq!(refusal.error_code().map(|(code, _)| code), Some(401));
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
        let quota = self.quota;
        let asked = &mut self.asked;
        self.client.receive(&self.server, self.times, bytes, |_, port| {
            asked.push(port);
            if *opened >= quota {
                return Err(Refusal::Quota);
            }
            *opened += 1;
            let (relayed, token) = match port {
                PortRequest::Any(Family::V6) => ("[2001:db8::1]:50000", None),
                PortRequest::Even { reserve_next: true, .. } => (RELAYED, Some([7; 8])),
                PortRequest::Reserved(token) if token != [7; 8] => return Err(Refusal::NoPort),
                _ => (RELAYED, None),
            };
            let relayed = address(relayed);
            Ok(Opened { relayed, token })
        })
    }

    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        match self.receive(bytes) {
            Outcome::Answer(answer) | Outcome::OpenAnswer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// The code of the refusal of a request, which `make` writes, if it is refused.
    fn ask_code(&mut self, make: impl FnOnce(&Self, TransId) -> Vec<u8>) -> Option<u16> {
        let request = make(self, TransId::new());
        let answer = self.answer(&request);
        assert_eq!(answer[4..20], request[4..20], "the transaction");
        let answer = StunMessage::parse(&answer).unwrap();
        answer.error_code().map(|(code, _)| code)
    }

    fn key(&self) -> [u8; 16] {
        let TurnCredentials { username, password } = &self.credentials;
        Md5::digest(format!("{username}:weir:{password}")).into()
    }

    /// A request with the credentials, and with these attributes more.
    fn signed(&self, message: StunMessage<'_>, more: &[u8]) -> Vec<u8> {
        let mut bytes = encode(message, None);
        // Without the fingerprint.
        bytes.truncate(bytes.len() - 8);
        let (username, nonce) = (self.credentials.username.as_str(), self.nonce.as_str());
        for (kind, value) in [(0x06, username), (0x14, "weir"), (0x15, nonce)] {
            bytes.extend([0, kind, 0, value.len() as u8]);
            bytes.extend(value.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes.extend(more);
        sign(&mut bytes, &self.key());
        bytes
    }

    fn allocate(&self, id: TransId) -> Vec<u8> {
        self.allocate_with(id, &REQUESTED_UDP)
    }

    /// A request for an allocation with these attributes more.
    fn allocate_with(&self, id: TransId, more: &[u8]) -> Vec<u8> {
        let message = StunMessageBuilder::new().allocate().request();
        self.signed(message.build(id), more)
    }

    fn refresh(&self, id: TransId, lifetime: u32) -> Vec<u8> {
        let message = StunMessageBuilder::new().refresh().request().lifetime(lifetime);
        self.signed(message.build(id), &[])
    }

    fn permit(&self, id: TransId, peer: &str) -> Vec<u8> {
        self.permit_with(id, peer, &[])
    }

    /// The same with these attributes more.
    fn permit_with(&self, id: TransId, peer: &str, more: &[u8]) -> Vec<u8> {
        let message = StunMessageBuilder::new().create_permission().request();
        let message = message.xor_peer_address(address(peer));
        self.signed(message.build(id), more)
    }

    fn bind(&self, id: TransId, channel: u16, peer: &str) -> Vec<u8> {
        let message = StunMessageBuilder::new().channel_bind().request();
        let message = message.channel_number(channel).xor_peer_address(address(peer));
        self.signed(message.build(id), &[])
    }
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
    assert_eq!(world.client.relayed(), [address(RELAYED)]);
    assert_eq!(world.answer(&request), first, "the same request again");
    assert_eq!(world.ask_code(|world, id| world.allocate(id)), Some(437));
    assert_eq!(world.opened, 1);
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 7_200)), None);
    assert_eq!(world.client.due(), Some(world.times.now + Duration::from_secs(600)));
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 0)), None);
    assert!(world.client.relayed().is_empty());
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 0)), None, "once more");
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), Some(437));
}

#[test]
fn an_allocation_that_is_not_refreshed_expires() {
    let mut world = World::allocated();
    world.times.now += Duration::from_secs(599);
    assert!(matches!(world.receive(&sent(MEDIA, b"x")), Outcome::Forward { .. }));
    world.times.now += Duration::from_secs(1);
    assert_eq!(world.receive(&sent(MEDIA, b"x")), Outcome::Nothing);
    assert!(world.client.relayed().is_empty());
}

#[test]
fn credentials_have_to_be_valid_and_the_allocations_own() {
    let mut world = World::allocated();
    let nonce = std::mem::replace(&mut world.nonce, "0".repeat(12));
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
    for (other, code) in [
        ("10.0.0.1:7882", 403),
        ("127.0.0.1:7882", 403),
        ("203.0.113.9:53", 403),
        ("[::1]:7882", 443),
    ] {
        assert_eq!(
            world.ask_code(|world, id| world.permit(id, other)),
            Some(code),
            "{other}"
        );
        assert_eq!(
            world.ask_code(|world, id| world.bind(id, 0x4000, other)),
            Some(code),
            "{other}"
        );
        assert_eq!(world.receive(&sent(other, b"x")), Outcome::Nothing, "{other}");
        assert_eq!(
            world
                .client
                .receive_from_peer(&world.server, world.times.now, address(other), b"x"),
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
fn all_peers_of_a_request_have_to_be_permitted() {
    let mut world = World::allocated();
    // 192.0.2.1:7882 and 203.0.113.9:53, combined with the cookie.
    let media = [0, 0x12, 0, 8, 0, 1, 0x3f, 0xd8, 0xe1, 0x12, 0xa6, 0x43];
    let other = [0, 0x12, 0, 8, 0, 1, 0x21, 0x27, 0xea, 0x12, 0xd5, 0x4b];
    for (first, second, code) in [
        (MEDIA, media, None),
        (MEDIA, other, Some(403)),
        ("203.0.113.9:53", media, Some(403)),
    ] {
        let answered = world.ask_code(|world, id| world.permit_with(id, first, &second));
        assert_eq!(answered, code, "{first}");
    }
}

#[test]
fn an_allocation_has_a_family_of_the_server() {
    let (v4, v6) = ([0, 0x17, 0, 4, 1, 0, 0, 0], [0, 0x17, 0, 4, 2, 0, 0, 0]);
    let code = |peers: &[&str], family: &[u8]| {
        let mut world = World::new();
        world.server = world
            .server
            .with_peers(peers.iter().map(|peer| address(peer)).collect());
        let more = [&REQUESTED_UDP[..], family].concat();
        world.ask_code(|world, id| world.allocate_with(id, &more))
    };
    assert_eq!(code(&[MEDIA], &[]), None);
    assert_eq!(code(&[MEDIA], &v4), None);
    assert_eq!(code(&[MEDIA], &v6), Some(440));
    let only_v6 = ["[2001:db8::1]:7882"];
    assert_eq!(code(&only_v6, &[]), None);
    assert_eq!(code(&only_v6, &v4), Some(440));
    assert_eq!(code(&only_v6, &v6), None);
}

#[test]
fn a_user_has_a_quota_of_allocations() {
    let mut world = World::new();
    world.quota = 0;
    assert_eq!(world.ask_code(|world, id| world.allocate(id)), Some(486));
    world.quota = 1;
    assert_eq!(world.ask_code(|world, id| world.allocate(id)), None);
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
        .receive_from_peer(&world.server, world.times.now, address(MEDIA), b"down")
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
        .receive_from_peer(&world.server, world.times.now, address(MEDIA), b"down")
        .unwrap();
    assert_eq!(down, [0x40, 0, 0, 4, b'd', b'o', b'w', b'n']);
    assert_eq!(world.receive(&[0x40, 0, 0, 9, 1]), Outcome::Nothing, "cut off");

    world.times.now += Duration::from_secs(300);
    assert_eq!(world.ask_code(|world, id| world.refresh(id, 600)), None);
    world.times.now += Duration::from_secs(299);
    assert_eq!(world.receive(&up), expected);
    world.times.now += Duration::from_secs(1);
    assert_eq!(world.receive(&up), Outcome::Nothing, "the channel has expired");
    assert_eq!(world.ask_code(|world, id| world.bind(id, 0x4001, MEDIA)), None);
}
