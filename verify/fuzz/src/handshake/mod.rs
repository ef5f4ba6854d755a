//! The DTLS handshake of a media node as server, with a peer whose connectivity checks are valid.

mod certificates;
mod client;
mod node;
mod seeds;

use client::Client;
use node::Node;
pub(crate) use seeds::{HOSTILE, handshakes as seeds};

/// The times that both sides are asked for what they send. The longest handshake needs five.
const ROUNDS: usize = 64;
/// Datagrams that the node may send for each that it receives.
const SENT_FOR_EACH: usize = 2;
/// Datagrams that it may send besides: its flights, which it repeats until it gives up.
const SENT_BASE: usize = 64;

/// A handshake with a peer that shows any certificate and signature, and changes its datagrams:
/// only a peer that has its certificate's key is connected, the answers are bounded, and nothing is
/// left after the transport is closed.
///
/// Both sides make keys with the randomness of the operating system, so a failure may depend on
/// them.
pub fn dtls_handshake(data: &[u8]) {
    let mut frames = frames(data);
    let mut client = Client::new(&mut frames);
    let mut node = Node::new(client.certificate());
    let mut received = 0;
    for _ in 0..ROUNDS {
        let datagrams: Vec<_> = std::iter::from_fn(|| client.send(&mut frames)).collect();
        if datagrams.is_empty() {
            break;
        }
        for datagram in datagrams.iter().flatten() {
            received += 1;
            node.receive(datagram);
        }
        node.take_sent().iter().for_each(|datagram| client.receive(datagram));
    }
    node.wait();
    assert!(
        node.sent <= SENT_BASE + SENT_FOR_EACH * received,
        "{} answers",
        node.sent
    );
    if node.is_connected() {
        assert!(client.is_honest(), "a peer is connected that has not proved its key");
    }
    node.close();
}

/// The parts of an input, each after its length of two bytes. The last may be shorter.
fn frames(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let (len, after) = rest.split_first_chunk::<2>()?;
        let (frame, after) = after.split_at(usize::from(u16::from_be_bytes(*len)).min(after.len()));
        rest = after;
        Some(frame)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connects(data: &[u8]) -> bool {
        let mut frames = frames(data);
        let mut client = Client::new(&mut frames);
        let mut node = Node::new(client.certificate());
        while let Some(datagrams) = client.send(&mut frames) {
            datagrams.iter().for_each(|datagram| node.receive(datagram));
            node.take_sent().iter().for_each(|datagram| client.receive(datagram));
        }
        node.is_connected()
    }

    #[test]
    fn an_unchanged_handshake_connects() {
        assert!(connects(&[]));
        assert!(connects(&[0, 1, 1]), "in fragments");
    }

    #[test]
    fn a_signature_of_something_else_does_not_connect() {
        let seeds = seeds();
        let shown: Vec<_> = seeds.iter().filter(|seed| client::is_forged(seed)).collect();
        assert!(shown.len() >= 10, "a seed for each kind of certificate");
        assert!(!shown.into_iter().any(|seed| connects(seed)));
    }
}
