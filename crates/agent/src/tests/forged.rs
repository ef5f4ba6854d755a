//! Valid checks with a source that is not the peer's own.

use dataplane::{LegId, Path};
use southbound::{Command, DtlsRole, Notice, TransportId};

use super::data::channel;
use super::world::*;
use crate::Counter;

fn victim() -> Path {
    Path {
        local: "192.0.2.1:7882".parse().unwrap(),
        remote: "203.0.113.66:5555".parse().unwrap(),
    }
}

#[test]
fn a_forged_source_moves_no_media_and_is_no_consent() {
    let mut world = World::new();
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    let track = world.publish_video(publisher, &[]);
    world.subscribe(receiver, track, 500, BEST);
    let own = world.peers[receiver].path;
    world.take_notices();
    for sequence in 1..=12 {
        let forged = world.peers[receiver].request(true);
        world.deliver(victim(), forged);
        assert_eq!(world.model.leg(LegId(2)).unwrap().paths, [own, victim()]);
        world.send(publisher, video(11, sequence, KEY));
        world.check(publisher, false);
        world.advance(1_000);
    }
    assert!(!world.peers[receiver].rtp.is_empty(), "media stays where it was");
    assert_eq!(
        world.count(Counter::AnswerReceived),
        6,
        "from each peer one, and one each five seconds"
    );
    let gone = Notice::Disconnected {
        transport: TransportId(2),
    };
    assert!(world.take_notices().contains(&gone), "nobody is where media goes");
    world.check(receiver, false);
    assert_eq!(world.model.leg(LegId(2)).unwrap().paths[0], own);
    world.close_all();
}

#[test]
fn no_handshake_begins_with_an_address_without_proof() {
    for role in [DtlsRole::Server, DtlsRole::Client] {
        let mut world = World::new();
        let peer = world.add_peer(role, Vec::new());
        world.peers[peer].absent = true;
        world.check(peer, true);
        world.start_dtls(peer);
        assert_eq!(world.count(Counter::CheckSent), 1);
        assert_eq!(world.agent.poll_handshake().map(drop), None);
        world.advance(240);
        world.peers[peer].absent = false;
        // Our check is repeated once; the peer's flight was kept.
        world.advance(20);
        assert_eq!(world.count(Counter::CheckSent), 2);
        assert!(world.peers[peer].keys.is_some());
        world.close_all();
    }
}

#[test]
fn a_forged_check_takes_no_address_from_its_owner() {
    let mut world = World::new();
    let forger = world.connected_peer();
    let owner = world.add_peer(DtlsRole::Server, Vec::new());
    let path = world.peers[owner].path;
    let forged = world.peers[forger].request(true);
    world.deliver(path, forged.clone());
    world.check(owner, true);
    assert_eq!(world.model.leg(LegId(2)).unwrap().paths, [path]);
    world.deliver(path, forged);
    assert_eq!(world.count(Counter::PathContested), 1);
    world.start_dtls(owner);
    assert!(world.peers[owner].keys.is_some());
    world.close_all();
}

#[test]
fn a_check_before_the_description_is_proved_when_it_comes() {
    let mut world = World::new();
    let peer = world.add_peer(DtlsRole::Server, Vec::new());
    let remote = world.peers[peer].description(DtlsRole::Server);
    let (transport, local) = (world.peers[peer].transport, world.peers[peer].theirs.clone());
    world.command(southbound::Command::Close { transport });
    world.command(southbound::Command::Open(southbound::OpenTransport {
        transport,
        local,
        channels: Vec::new(),
    }));
    world.check(peer, true);
    assert_eq!(
        (world.count(Counter::CheckAnswered), world.count(Counter::CheckSent)),
        (1, 0)
    );
    world.command(southbound::Command::Connect { transport, remote });
    assert_eq!(world.count(Counter::AnswerReceived), 1);
    world.close_all();
}

#[test]
fn records_without_the_keys_neither_end_nor_deafen_an_association() {
    let record = |kind: u8, epoch: u8, body: &[u8]| {
        let mut record = vec![kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 1, 0, 0, 0, body.len() as u8];
        record.extend(body);
        record
    };
    let bodies: [&[u8]; 7] = [&[], &[0], &[1], &[2, 40], &[2, 0], &[1, 0], &[7; 60]];
    for role in [DtlsRole::Server, DtlsRole::Client] {
        let mut world = World::new();
        let peer = world.add_talker(role, vec![channel("_lossy", true)], Vec::new());
        world.advance(2_000);
        world.take_notices();
        let path = world.peers[peer].path;
        for epoch in [0, 1, 2, 255] {
            for kind in 20..=25 {
                for body in bodies {
                    world.deliver(path, record(kind, epoch, body));
                    world.deliver(path, [record(kind, epoch, body), record(kind, 0, &[])].concat());
                }
            }
        }
        let now = world.now;
        world.peers[peer].say(now, "_lossy", b"still there");
        world.live(2_000);
        let notices = world.take_notices();
        let heard = notices.iter().find_map(|notice| match notice {
            Notice::MessageReceived { message, .. } => Some(*message),
            _ => None,
        });
        let message = heard.unwrap_or_else(|| panic!("{role:?}: {notices:?}"));
        world.command(Command::MessageHandled { message });
        world.close_all();
    }
}
