//! ICE, DTLS and the leg table.

mod direct;

use super::world::*;
use crate::{Counter, NodeAddresses};
use dataplane::{LegId, Path, Protection, SrtpProfile};
use is::stun::StunMessage;
use southbound::{
    CloseReason, Command, DtlsRole, Fingerprint, HashFunction, NodeId, Notice, OpenTransport, TransportId,
};

const FIRST: TransportId = TransportId(1);

fn key_of(protection: &Protection) -> (Vec<u8>, Vec<u8>) {
    let Protection::Srtp { ingress, egress } = protection else {
        panic!("no keys")
    };
    (ingress.key().to_vec(), egress.key().to_vec())
}

#[test]
fn the_node_identifies_itself_first() {
    let mut world = World::new();
    let Some(Notice::Node(node)) = world.take_notices().into_iter().next() else {
        panic!("no node")
    };
    assert_eq!((node.addresses.len(), node.fingerprint.digest.len()), (1, 32));
    assert_eq!(node.node, NodeId(0));
}

#[test]
fn addresses_that_change_are_told() {
    let mut world = World::new();
    world.take_notices();
    let [udp, tcp] = ["198.51.100.1:7882", "198.51.100.1:7881"].map(|address| vec![address.parse().unwrap()]);
    let World {
        agent, model, notices, ..
    } = &mut world;
    let addresses = NodeAddresses {
        udp: udp.clone(),
        tcp: tcp.clone(),
        ..NodeAddresses::default()
    };
    agent.set_addresses(addresses, model, notices);
    let told = world.take_notices();
    let [Notice::Node(node)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((&node.addresses, &node.tcp_addresses), (&udp, &tcp));
}

#[test]
fn a_check_and_a_handshake_as_server_give_the_leg_the_peer_s_keys() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    assert!(world.model.is_empty(), "nothing is accepted from anywhere yet");
    world.check(peer, false);
    assert_eq!(world.protection(1), Protection::Pending);
    world.check(peer, true);
    world.start_dtls(peer);
    let (material, profile) = world.peers[peer].keys.clone().expect("the peer has keys");
    assert_eq!(profile, dimpl::SrtpProfile::AEAD_AES_256_GCM);
    let (ingress, egress) = key_of(&world.protection(1));
    assert_eq!((&ingress[..], &egress[..]), (&material[..32], &material[32..64]));
    let connected = Notice::Connected {
        transport: FIRST,
        srtp: Some(SrtpProfile::AeadAes256Gcm),
    };
    assert!(world.take_notices().contains(&connected));
    world.close_all();
    assert!(world.peers[peer].goodbye);
}

#[test]
fn towards_a_passive_peer_we_are_the_client() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Client, Vec::new());
    world.check(peer, false);
    assert!(
        world.peers[peer].keys.is_none(),
        "it waits for the pair the peer chooses"
    );
    world.check(peer, true);
    let (material, profile) = world.peers[peer].keys.clone().expect("the peer has keys");
    assert_eq!(profile, dimpl::SrtpProfile::AEAD_AES_256_GCM);
    let (ingress, egress) = key_of(&world.protection(1));
    assert_eq!((&egress[..], &ingress[..]), (&material[..32], &material[32..64]));
    world.close_all();
}

#[test]
fn a_lost_flight_is_sent_again() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    world.check(peer, true);
    world.peers[peer].deaf = true;
    world.start_dtls(peer);
    world.peers[peer].deaf = false;
    assert!(world.peers[peer].keys.is_none());
    world.live(3_000);
    assert!(world.peers[peer].keys.is_some());
}

#[test]
fn dtls_that_comes_before_the_description_is_kept() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    let remote = world.peers[peer].description(DtlsRole::Server);
    world.command(Command::Close { transport: FIRST });
    let local = world.peers[peer].theirs.clone();
    world.command(Command::Open(OpenTransport {
        transport: FIRST,
        local,
        channels: Vec::new(),
    }));
    world.check(peer, true);
    world.start_dtls(peer);
    assert!(world.peers[peer].keys.is_none());
    world.command(Command::Connect {
        transport: FIRST,
        remote,
    });
    assert!(world.peers[peer].keys.is_some());
}

#[test]
fn a_wrong_certificate_ends_the_transport_before_keys_are_used() {
    for role in [DtlsRole::Server, DtlsRole::Client] {
        let mut world = World::new();
        let peer = world.add_peer(role, Vec::new());
        let mut remote = world.peers[peer].description(role);
        remote.fingerprints = vec![Fingerprint {
            hash: HashFunction::Sha256,
            digest: vec![7; 32],
        }];
        world.command(Command::Connect {
            transport: FIRST,
            remote,
        });
        world.check(peer, true);
        world.start_dtls(peer);
        let closed = Notice::Closed {
            transport: FIRST,
            reason: CloseReason::Fingerprint,
        };
        let notices = world.take_notices();
        assert!(notices.contains(&closed), "{notices:?}");
        assert!(!notices.iter().any(|notice| matches!(notice, Notice::Connected { .. })));
        assert_eq!(world.count(Counter::FingerprintMismatch), 1);
        world.close_all();
    }
}

#[test]
fn any_promised_hash_function_will_do() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    let mut remote = world.peers[peer].description(DtlsRole::Server);
    remote.fingerprints.insert(
        0,
        Fingerprint {
            hash: HashFunction::Sha512,
            digest: vec![7; 64],
        },
    );
    world.command(Command::Connect {
        transport: FIRST,
        remote,
    });
    world.check(peer, true);
    world.start_dtls(peer);
    assert!(world.peers[peer].keys.is_some());
}

#[test]
fn nothing_is_sent_to_an_address_that_has_not_proved_itself() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    let mut bad = world.peers[peer].request(true);
    let len = bad.len();
    bad[len - 20] ^= 1;
    let path = world.peers[peer].path;
    world.deliver(path, bad);
    world.deliver(path, vec![22; 100]);
    world.deliver(path, vec![0x00, 0x01, 0x00, 0x00]);
    world.advance(5_000);
    assert!(world.peers[peer].stun.is_empty() && world.model.is_empty());
    assert_eq!(world.count(Counter::StunMalformed), 2);
}

#[test]
fn the_node_sends_to_the_newest_nominated_pair() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let old = world.peers[peer].path;
    let new = Path {
        remote: ([203, 0, 113, 5], 5).into(),
        ..old
    };
    world.peers[peer].path = new;
    world.check(peer, false);
    assert_eq!(world.model.leg(LegId(1)).unwrap().paths, [old, new]);
    world.check(peer, true);
    assert_eq!(world.model.leg(LegId(1)).unwrap().paths, [new, old]);
    world.live(40_000);
    assert_eq!(
        world.model.leg(LegId(1)).unwrap().paths,
        [new],
        "packets from a path that was silent for long are not accepted any more"
    );
}

#[test]
fn silence_disconnects_a_check_brings_back_and_more_silence_closes() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.take_notices();
    world.advance(9_900);
    assert!(
        !world
            .take_notices()
            .contains(&Notice::Disconnected { transport: FIRST })
    );
    world.advance(200);
    assert!(
        world
            .take_notices()
            .contains(&Notice::Disconnected { transport: FIRST })
    );
    world.check(peer, false);
    assert!(matches!(world.take_notices()[..], [Notice::Connected { .. }]));
    world.advance(30_100);
    let expired = Notice::Closed {
        transport: FIRST,
        reason: CloseReason::ConsentExpired,
    };
    assert!(world.take_notices().contains(&expired));
    world.close_all();
}

#[test]
fn a_peer_that_never_comes_or_never_finishes_is_closed() {
    let mut world = World::new();
    world.add_peer(DtlsRole::Server, Vec::new());
    let half = world.add_peer(DtlsRole::Server, Vec::new());
    world.check(half, true);
    world.peers[half].deaf = true;
    world.start_dtls(half);
    for _ in 0..31 {
        world.check(half, false);
        world.advance(2_000);
    }
    let notices = world.take_notices();
    let closed = |transport, reason| Notice::Closed {
        transport: TransportId(transport),
        reason,
    };
    assert!(notices.contains(&closed(1, CloseReason::NeverConnected)), "{notices:?}");
    assert!(notices.contains(&closed(2, CloseReason::Handshake)), "{notices:?}");
    world.close_all();
}

#[test]
fn a_peer_that_says_goodbye_is_gone() {
    let mut world = World::new();
    let peer = world.connected_peer();
    world.peers[peer].hang_up(world.now);
    world.settle();
    let closed = Notice::Closed {
        transport: FIRST,
        reason: CloseReason::Peer,
    };
    assert!(world.take_notices().contains(&closed));
    world.close_all();
}

#[test]
fn a_user_fragment_that_somebody_has_is_refused() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let local = world.peers[peer].theirs.clone();
    world.take_notices();
    world.command(Command::Open(OpenTransport {
        transport: TransportId(9),
        local,
        channels: Vec::new(),
    }));
    assert!(matches!(
        world.take_notices()[..],
        [Notice::Refused {
            transport: TransportId(9),
            ..
        }]
    ));
    assert_eq!(world.count(Counter::UfragCollision), 1);
    world.check(peer, false);
    assert_eq!(world.count(Counter::CheckAnswered), 2);
}

#[test]
fn an_address_belongs_to_the_last_peer_that_proved_it_but_cannot_be_stolen() {
    let mut world = World::new();
    let (old, new) = (world.connected_peer(), world.add_peer(DtlsRole::Server, Vec::new()));
    let path = world.peers[old].path;
    let claim = world.peers[new].request(true);
    world.deliver(path, claim.clone());
    assert_eq!(world.count(Counter::PathContested), 1);
    world.advance(11_000);
    world.peers[old].path.remote.set_port(7);
    world.peers[new].path = path;
    world.deliver(path, claim);
    assert_eq!(world.model.leg(LegId(1)).unwrap().paths, []);
    assert_eq!(world.model.leg(LegId(2)).unwrap().paths, [path]);
    world.close_all();
}

#[test]
fn clear_rtp_without_a_fingerprint_needs_the_operators_consent() {
    for allowed in [true, false] {
        let mut world = World::with(|config| config.clear_rtp = allowed);
        let peer = world.add_peer(DtlsRole::Server, Vec::new());
        let mut remote = world.peers[peer].description(DtlsRole::Server);
        remote.fingerprints.clear();
        world.command(Command::Connect {
            transport: FIRST,
            remote,
        });
        world.check(peer, true);
        let expected = if allowed {
            Protection::Clear
        } else {
            Protection::Pending
        };
        assert_eq!(world.protection(1), expected);
        let connected = Notice::Connected {
            transport: FIRST,
            srtp: None,
        };
        assert_eq!(world.take_notices().contains(&connected), allowed);
    }
}

#[test]
fn half_open_handshakes_are_bounded_and_the_oldest_of_the_largest_address_goes() {
    let mut world = World::new();
    for index in 0..=crate::limits::HANDSHAKES_MAX {
        let peer = world.add_peer(DtlsRole::Server, Vec::new());
        if index == 0 {
            world.peers[peer].path.remote.set_ip([203, 0, 113, 9].into());
        }
        world.check(peer, true);
        world.peers[peer].deaf = true;
        world.start_dtls(peer);
    }
    assert_eq!(world.count(Counter::HandshakeEvicted), 1);
    let closed = Notice::Closed {
        transport: TransportId(2),
        reason: CloseReason::Handshake,
    };
    assert!(world.take_notices().contains(&closed));
    world.close_all();
}

#[test]
fn an_answer_reads_as_stun_wants_it() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    world.check(peer, true);
    let reply = StunMessage::parse(&world.peers[peer].stun[0]).unwrap();
    assert!(reply.is_successful_binding_response());
    assert!(reply.verify(world.peers[peer].theirs.password.as_bytes(), hmac));
    assert_eq!(reply.mapped_address(), Some(world.peers[peer].path.remote));
}
