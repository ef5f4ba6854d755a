//! The DTLS handshake of a media node as server, with a peer whose connectivity checks are valid.

mod certificates;
mod client;
mod node;
mod seeds;

use client::Client;
use node::Node;
pub(crate) use seeds::{FORGED, HOSTILE, forged, handshakes as seeds};

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

/// The parts of an input as datagrams from the address of a peer that is connected: nobody without
/// its keys ends its association.
pub fn dtls_forged(data: &[u8]) {
    let (mut client, mut node) = connected(&mut std::iter::empty());
    for datagram in frames(data) {
        node.receive(datagram);
    }
    assert!(!node.is_closed(), "a stranger has ended the association");
    node.take_sent().iter().for_each(|datagram| client.receive(datagram));
    node.close();
}

/// Both sides, after they have sent each other everything.
fn connected<'a>(frames: &mut impl Iterator<Item = &'a [u8]>) -> (Client, Node) {
    let mut client = Client::new(frames);
    let mut node = Node::new(client.certificate());
    while let Some(datagrams) = client.send(frames) {
        datagrams.iter().for_each(|datagram| node.receive(datagram));
        node.take_sent().iter().for_each(|datagram| client.receive(datagram));
    }
    (client, node)
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
        connected(&mut frames(data)).1.is_connected()
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
