//! Messages of TURN clients.

use std::net::SocketAddr;
use std::time::Duration;

use ::turn::limits::MESSAGE_MAX;
use ::turn::{Client, Opened, Outcome, Server, Times, framing};
use access::TurnSecret;
use is::stun::StunMessage;
use md5::{Digest, Md5};
use ring::hmac;

use crate::assert_inside;

/// The one peer.
const MEDIA: ([u8; 4], u16) = ([192, 0, 2, 1], 7882);
/// A machine that is no peer.
const OTHER: ([u8; 4], u16) = ([192, 0, 2, 2], 7882);
/// The relayed port.
const RELAYED: ([u8; 4], u16) = ([192, 0, 2, 1], 50_000);
/// A request for an allocation without attributes.
const ALLOCATE: [u8; 20] = [0, 3, 0, 0, 0x21, 0x12, 0xa4, 0x42, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];
/// The cookie of STUN.
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];

/// A server and a client, and a time.
struct World {
    server: Server,
    client: Client,
    times: Times,
}

impl World {
    #[expect(clippy::disallowed_methods, reason = "the time has no meaning here")]
    fn new() -> Self {
        let media = SocketAddr::from(MEDIA);
        World {
            server: Server::new("weir", TurnSecret::new("north"), &[7; 32], vec![media]),
            client: Client::new(SocketAddr::from(([198, 51, 100, 7], 4_000))),
            times: Times {
                now: std::time::Instant::now(),
                unix: Duration::from_secs(1_700_000_000),
            },
        }
    }
}

/// A message of a client without credentials, and the same in a stream: nothing is relayed, no port
/// is opened, an answer is short, and an answer to it is none.
pub fn turn_messages(data: &[u8]) {
    let World {
        server,
        mut client,
        times,
    } = World::new();
    let mut stream = data;
    while let Ok(Some(len)) = framing::first(stream) {
        let Some((message, rest)) = stream.split_at_checked(len) else {
            break;
        };
        assert_inside(data, message);
        match client.receive(&server, times, message, |_, _| panic!("nobody has credentials")) {
            Outcome::Nothing => {}
            Outcome::OpenAnswer(answer) => {
                let (answered, asked) = (answer.len(), message.len());
                assert!(answered <= (2 * asked).max(52) + 44, "{answered} bytes for {asked}");
                let again = client.receive(&server, times, &answer, |_, _| panic!("nobody has credentials"));
                assert_eq!(again, Outcome::Nothing);
            }
            Outcome::Answer(_) => panic!("nobody has credentials"),
            Outcome::Forward { peer, .. } => panic!("relayed to {peer}"),
        }
        stream = rest;
    }
    assert!(client.relayed().is_empty());
    let down = client.receive_from_peer(&server, times.now, SocketAddr::from(MEDIA), data);
    assert_eq!(down, None);
}

/// A stream of messages of a client with credentials, whose requests are signed here: only media is
/// relayed to and from, by one port at a time, and an answer is no longer than a message.
pub fn turn_requests(data: &[u8]) {
    let World {
        server,
        mut client,
        times,
    } = World::new();
    let until = times.unix + Duration::from_secs(3_600);
    let credentials = TurnSecret::new("north").credentials("PA_1", until);
    let key = Md5::digest(format!("{}:weir:{}", credentials.username, credentials.password));
    let nonce = nonce(&server, &mut client, times);
    let media = SocketAddr::from(MEDIA);
    let mut stream = data;
    while let Ok(Some(len)) = framing::first(stream) {
        let Some((message, rest)) = stream.split_at_checked(len) else {
            break;
        };
        let signed = signed(message, [&credentials.username, "weir", &nonce], &key);
        let mut ports = client.relayed().len();
        let open = |user: &str, _| {
            assert_eq!(user, credentials.username);
            ports += 1;
            // The server has no peer of the other family.
            assert_eq!(ports, 1);
            let relayed = SocketAddr::from(RELAYED);
            Ok(Opened { relayed, token: None })
        };
        match client.receive(&server, times, &signed, open) {
            Outcome::Nothing => {}
            Outcome::Answer(answer) | Outcome::OpenAnswer(answer) => {
                assert!(answer.len() <= MESSAGE_MAX, "{} bytes", answer.len());
            }
            Outcome::Forward { peer, data } => {
                assert_eq!(peer, media);
                assert_inside(&signed, data);
            }
        }
        stream = rest;
    }
    let other = client.receive_from_peer(&server, times.now, SocketAddr::from(OTHER), data);
    assert_eq!(other, None);
    let down = client.receive_from_peer(&server, times.now, media, data);
    assert!(!client.relayed().is_empty() || down.is_none(), "relayed without a port");
}

/// The nonce that the server gives a client.
fn nonce(server: &Server, client: &mut Client, times: Times) -> String {
    let outcome = client.receive(server, times, &ALLOCATE, |_, _| panic!("nobody has credentials"));
    let Outcome::OpenAnswer(challenge) = outcome else {
        panic!("{outcome:?}");
    };
    let challenge = StunMessage::parse(&challenge).expect("an answer");
    challenge.nonce().expect("a challenge").to_owned()
}

/// A request with a user's name, the realm and the nonce in front of its attributes, and their HMAC
/// after them. Another message is as it was.
fn signed(message: &[u8], credentials: [&str; 3], key: &[u8]) -> Vec<u8> {
    let Some((header, attributes)) = message.split_first_chunk::<20>() else {
        return message.to_vec();
    };
    // Channels begin with other bits, and indications are not signed.
    if header[0] > 1 || header[1] & 0x10 != 0 {
        return message.to_vec();
    }
    let mut signed = [&header[..4], &COOKIE, &header[8..]].concat();
    for (kind, value) in [0x06, 0x14, 0x15].into_iter().zip(credentials) {
        signed.extend([0, kind, 0, value.len() as u8]);
        signed.extend(value.as_bytes());
        signed.resize(signed.len().next_multiple_of(4), 0);
    }
    signed.extend(attributes);
    let len = (signed.len() - 20 + 24) as u16;
    signed[2..4].copy_from_slice(&len.to_be_bytes());
    let digest = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key), &signed);
    signed.extend([0x00, 0x08, 0, 20]);
    signed.extend(digest.as_ref());
    signed
}
