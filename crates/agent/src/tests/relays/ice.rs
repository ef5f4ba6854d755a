//! Parties with ICE.

use super::*;

#[test]
fn a_browser_gets_no_media_where_it_has_not_answered() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Server);
    let checks = Some((world.peers[peer].theirs.clone(), Some(world.peers[peer].ours.clone())));
    world.open_both();
    world.install(Entry {
        checks,
        ..from_peer(dtls(&fingerprint, false))
    });
    world.install(from_phone(dtls(&fingerprint, false)));
    let hop = |world: &World| world.model.relay(at(FACING_PHONE)).unwrap().rtp.clone();
    world.peers[peer].absent = true;
    world.check(peer, true);
    world.start_dtls(peer);
    assert_eq!((hop(&world), world.count(Counter::CheckSent)), (None, 1));
    assert!(world.take_relay_notices().is_empty(), "nobody is there yet");
    world.peers[peer].absent = false;
    world.advance(300);
    assert!(
        world.keys_are_in(peer),
        "the handshake goes on with the flight that was kept"
    );

    let elsewhere = path(FACING_PEER, "198.51.100.66:6666");
    let forged = world.peers[peer].request(true);
    world.deliver(elsewhere, forged);
    assert_eq!(hop(&world).unwrap().path.remote, at(PEER));
    assert_eq!(world.pass(path(FACING_PHONE, PHONE), &rtp(2, 1)).len(), 1);
    world.close_ports();
}

#[test]
fn checks_with_a_wrong_password_are_not_answered() {
    let mut world = World::new();
    let (peer, fingerprint) = world.peer_at_port(southbound::DtlsRole::Server);
    let checks = Some((credentials("somebody else"), None));
    world.open_both();
    world.install(Entry {
        checks,
        ..from_peer(dtls(&fingerprint, false))
    });
    world.check(peer, true);
    assert!(world.peers[peer].stun.is_empty() && world.take_relay_notices().is_empty());
    assert_eq!(world.count(Counter::CheckUnknownUfrag), 1);
}
