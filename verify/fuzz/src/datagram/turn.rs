//! Messages of TURN clients.

use std::net::SocketAddr;
use std::time::Duration;

use ::turn::{Client, Outcome, Server, Times, framing};
use access::TurnSecret;

use crate::assert_inside;

/// The one peer.
const MEDIA: ([u8; 4], u16) = ([192, 0, 2, 1], 7882);

/// A message of a client without credentials, and the same in a stream: nothing is relayed, no port
/// is opened, and an answer is short.
#[expect(clippy::disallowed_methods, reason = "the time has no meaning here")]
pub fn turn_messages(data: &[u8]) {
    let media = SocketAddr::from(MEDIA);
    let server = Server::new("weir", TurnSecret::new("north"), &[7; 32], vec![media]);
    let mut client = Client::new(SocketAddr::from(([198, 51, 100, 7], 4_000)));
    let times = Times {
        now: std::time::Instant::now(),
        unix: Duration::from_secs(1_700_000_000),
    };
    let mut stream = data;
    while let Ok(Some(len)) = framing::first(stream) {
        let Some((message, rest)) = stream.split_at_checked(len) else {
            break;
        };
        assert_inside(data, message);
        match client.receive(&server, times, message, |_, _| panic!("nobody has credentials")) {
            Outcome::Nothing => {}
            Outcome::Answer(answer) => assert!(answer.len() <= 100, "{} bytes", answer.len()),
            Outcome::Forward { peer, .. } => panic!("relayed to {peer}"),
        }
        stream = rest;
    }
    assert_eq!(client.relayed(), None);
    let down = client.receive_from_peer(&server, times.now, media, data);
    assert_eq!(down, None);
}
