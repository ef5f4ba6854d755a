//! Handshakes that are computed elsewhere, later than they could be.

use super::world::*;
use crate::Counter;
use crate::limits::{HANDSHAKE_DATAGRAMS_MAX, HANDSHAKES_WAITING_MAX};
use dataplane::DataPlane as _;
use southbound::{CloseReason, Command, DtlsRole, Fingerprint, HashFunction, Notice, OpenTransport, TransportId};

const FIRST: TransportId = TransportId(1);

/// A world where the peer's first flight has arrived and nobody computes handshakes.
fn waiting() -> (World, usize) {
    let mut world = World::new();
    world.idle_hands = false;
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    world.check(peer, true);
    world.start_dtls(peer);
    (world, peer)
}

#[test]
fn datagrams_wait_while_a_handshake_is_computed() {
    let (mut world, peer) = waiting();
    let out = world.agent.poll_handshake().expect("one waits");
    // The peer repeats its flight meanwhile, and proves that it is there.
    world.live(1_500);
    assert!(world.agent.poll_handshake().is_none(), "it is out");
    let done = out.compute(world.now);
    world
        .agent
        .handshaken(world.now, done, &mut world.model, &mut world.notices);
    world.idle_hands = true;
    world.settle();
    assert!(world.peers[peer].keys.is_some());
    world.close_all();
}

#[test]
fn datagrams_that_wait_are_bounded() {
    let (mut world, peer) = waiting();
    let path = world.peers[peer].path;
    for _ in 0..HANDSHAKE_DATAGRAMS_MAX {
        world.deliver(path, vec![22; 40]);
    }
    assert_eq!(world.count(Counter::DtlsTooMany), 1);
    world.idle_hands = true;
    world.settle();
    assert!(world.peers[peer].keys.is_some());
}

#[test]
fn a_handshake_of_a_closed_transport_is_dropped() {
    let (mut world, peer) = waiting();
    let out = world.agent.poll_handshake().expect("one waits");
    world.command(Command::Close { transport: FIRST });
    let local = world.peers[peer].theirs.clone();
    world.command(Command::Open(OpenTransport {
        transport: FIRST,
        local,
        channels: Vec::new(),
    }));
    let remote = world.peers[peer].description(DtlsRole::Server);
    world.command(Command::Connect {
        transport: FIRST,
        remote,
    });
    world.check(peer, true);
    let done = out.compute(world.now);
    world
        .agent
        .handshaken(world.now, done, &mut world.model, &mut world.notices);
    world.settle();
    assert!(world.peers[peer].keys.is_none(), "nothing was sent of it");
    world.idle_hands = true;
    world.advance(3_000);
    assert!(world.peers[peer].keys.is_some(), "the new one goes on");
    world.close_all();
}

#[test]
fn a_description_of_somebody_else_that_comes_meanwhile_ends_it() {
    let (mut world, peer) = waiting();
    let out = world.agent.poll_handshake().expect("one waits");
    let mut remote = world.peers[peer].description(DtlsRole::Server);
    remote.fingerprints = vec![Fingerprint {
        hash: HashFunction::Sha256,
        digest: vec![7; 32],
    }];
    world.command(Command::Connect {
        transport: FIRST,
        remote,
    });
    let done = out.compute(world.now);
    world
        .agent
        .handshaken(world.now, done, &mut world.model, &mut world.notices);
    let closed = Notice::Closed {
        transport: FIRST,
        reason: CloseReason::Fingerprint,
    };
    assert!(world.take_notices().contains(&closed));
    world.close_all();
}

#[test]
fn more_than_may_wait_begin_later() {
    let mut world = World::new();
    world.idle_hands = false;
    let roles = [DtlsRole::Server, DtlsRole::Client];
    for index in 0..HANDSHAKES_WAITING_MAX + 2 {
        let peer = world.add_peer(roles[index % 2], Vec::new());
        world.check(peer, true);
        if index % 2 == 0 {
            world.start_dtls(peer);
        }
    }
    let put_off = world.count(Counter::HandshakePutOff) as usize;
    assert_eq!(put_off, 30, "all have one address");
    world.idle_hands = true;
    world.settle();
    let keyed = |world: &World| world.peers.iter().filter(|peer| peer.keys.is_some()).count();
    assert_eq!(keyed(&world), HANDSHAKES_WAITING_MAX + 2 - put_off);
    world.advance(150);
    assert_eq!(keyed(&world), HANDSHAKES_WAITING_MAX + 2);
    world.close_all();
}

/// RTP of a stream that nobody knows.
const MEDIA: [u8; 13] = [0x80, 111, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x12, 1];

#[test]
fn media_that_arrives_before_the_keys_is_taken_in_after_them() {
    let (mut world, peer) = waiting();
    let path = world.peers[peer].path;
    world.deliver(path, MEDIA.to_vec());
    world.advance(400);
    world.idle_hands = true;
    world.settle();
    assert!(world.peers[peer].keys.is_some());
    let counters = world.model.counters();
    assert_eq!(counters[dataplane::Counter::PuntedProtected], 1);
    assert_eq!(
        counters[dataplane::Counter::PuntedStream],
        1,
        "the packet was looked at"
    );
    assert_eq!(world.count(Counter::MediaTooEarly), 0);
    world.close_all();
}

#[test]
fn media_that_is_old_when_there_are_keys_is_dropped() {
    let (mut world, peer) = waiting();
    let path = world.peers[peer].path;
    world.deliver(path, MEDIA.to_vec());
    world.live(600);
    world.idle_hands = true;
    world.settle();
    assert!(world.peers[peer].keys.is_some());
    assert_eq!(world.model.counters()[dataplane::Counter::PuntedStream], 0);
    assert_eq!(world.count(Counter::MediaTooEarly), 1);
    world.close_all();
}

#[test]
fn media_of_a_peer_without_a_handshake_is_dropped() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    world.check(peer, true);
    let path = world.peers[peer].path;
    world.deliver(path, MEDIA.to_vec());
    assert_eq!(world.count(Counter::MediaTooEarly), 1);
    world.close_all();
}
