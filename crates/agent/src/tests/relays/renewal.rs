//! Another association of a party with the same certificate (RFC 8842 section 4).

use southbound::DtlsRole;

use super::*;

/// The keys of this association of a party.
pub(super) fn association(fingerprint: &Fingerprint, active: bool, association: u32) -> Keys {
    Keys::Dtls {
        fingerprint: fingerprint.clone(),
        active,
        association,
    }
}

#[test]
fn a_party_may_begin_another_association_and_its_old_keys_stay_until_then() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(DtlsRole::Server);
    world.open_both();
    world.install(from_phone(dtls(&fingerprint, false)));
    world.install(from_peer(dtls(&fingerprint, false)));
    world.start_dtls(peer);
    world.advance(10);
    assert!(world.keys_are_in(peer));
    let before = world.model.relay(at(FACING_PEER)).cloned();

    // A ClientHello alone, as a stranger may send it.
    let now = world.now;
    world.peers[peer].renew(DtlsRole::Server, now);
    world.peers[peer].deaf = true;
    world.start_dtls(peer);
    world.advance(10);
    assert_eq!(world.model.relay(at(FACING_PEER)).cloned(), before);
    world.advance(25_000);
    assert_eq!(world.model.relay(at(FACING_PEER)).cloned(), before);
    assert_eq!(world.pass(path(FACING_PHONE, PHONE), &rtp(2, 1)).len(), 1);

    let now = world.now;
    world.peers[peer].renew(DtlsRole::Server, now);
    world.peers[peer].deaf = false;
    world.start_dtls(peer);
    world.advance(10);
    assert!(world.keys_are_in(peer));
    assert_ne!(world.model.relay(at(FACING_PEER)).cloned(), before);
    world.close_ports();
    assert!(world.peers[peer].goodbye, "the newest association is closed");
}

#[test]
fn as_client_we_begin_another_association_with_a_party_that_moves() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(DtlsRole::Client);
    world.open_both();
    world.install(from_peer(dtls(&fingerprint, true)));
    world.install(from_phone(dtls(&fingerprint, true)));
    world.advance(50);
    assert!(world.keys_are_in(peer));
    let now = world.now;
    world.peers[peer].renew(DtlsRole::Client, now);
    world.install(from_phone(dtls(&fingerprint, true)));
    world.advance(50);
    assert!(world.peers[peer].keys.is_none(), "the same order changes nothing");

    let elsewhere = "198.51.100.1:1002";
    world.peers[peer].path = path(FACING_PEER, elsewhere);
    let keys = dtls(&fingerprint, true);
    world.install(Entry {
        rtp: hop(FACING_PEER, elsewhere, keys.clone()),
        rtcp: hop(FACING_PEER, elsewhere, keys.clone()),
        ..from_phone(keys)
    });
    world.advance(50);
    assert!(world.keys_are_in(peer));
    world.close_ports();
}

#[test]
fn a_refused_party_is_told_and_logged_once() {
    for (role, active) in [(DtlsRole::Server, false), (DtlsRole::Client, true)] {
        let mut world = World::new();
        let (peer, mut other) = world.peer_at_port(role);
        other.digest[0] ^= 1;
        world.open_both();
        world.install(from_phone(dtls(&other, active)));
        world.install(from_peer(dtls(&other, active)));
        world.start_dtls(peer);
        world.advance(30_000);
        let failures: Vec<_> = std::iter::from_fn(|| world.agent.poll_handshake_failure()).collect();
        let expected = crate::HandshakeFailure {
            peer: at(PEER),
            role,
            fault: crate::HandshakeFault::Fingerprint,
        };
        assert_eq!(failures, [expected]);
        assert_eq!(world.count(Counter::FingerprintMismatch), 1);
    }
}

#[test]
fn as_client_we_begin_another_association_that_a_party_announces() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(DtlsRole::Client);
    let announced = |number| association(&fingerprint, true, number);
    world.open_both();
    world.install(from_peer(announced(7)));
    world.install(from_phone(announced(7)));
    world.advance(50);
    assert!(world.keys_are_in(peer));
    let now = world.now;
    world.peers[peer].renew(DtlsRole::Client, now);
    world.install(from_peer(announced(7)));
    world.advance(50);
    assert!(world.peers[peer].keys.is_none(), "the same order changes nothing");

    world.install(from_peer(announced(8)));
    world.install(from_phone(announced(8)));
    world.advance(50);
    assert!(world.keys_are_in(peer), "at the same address");
    world.close_ports();
}
