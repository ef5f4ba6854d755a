//! Peers that restart ICE and have another path then.

use dataplane::LegId;
use southbound::{Command, DtlsRole, OpenTransport, Publication, SubscriptionSettings};

use super::adapting::{call, encoding, seconds};
use super::world::*;

/// A peer restarts ICE with another address, and nominates the new pair.
fn move_away(world: &mut World, peer: usize) {
    let transport = world.peers[peer].transport;
    world.peers[peer].theirs = credentials(&format!("again{peer}"));
    world.peers[peer].ours = credentials(&format!("fresh{peer}"));
    let local = world.peers[peer].theirs.clone();
    world.command(Command::Open(OpenTransport {
        transport,
        local,
        channels: Vec::new(),
    }));
    let remote = world.peers[peer].description(DtlsRole::Server);
    world.command(Command::Connect { transport, remote });
    world.peers[peer].path.remote = ([203, 0, 113, 5], 1_000 + peer as u16).into();
    world.check(peer, true);
}

#[test]
fn a_restart_moves_the_transport_without_a_new_handshake() {
    let mut world = World::new();
    let peer = world.connected_peer();
    let (before, old) = (world.protection(1), world.peers[peer].path);
    move_away(&mut world, peer);
    assert_eq!(world.model.leg(LegId(1)).unwrap().paths, [world.peers[peer].path, old]);
    assert_eq!(world.protection(1), before);
    world.close_all();
}

#[test]
fn a_publisher_on_another_path_is_asked_for_key_frames_at_once() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &[]);
    let receiver = world.connected_peer();
    world.subscribe(receiver, track, 500, BEST);
    world.send(publisher, video(11, 1, KEY));
    world.advance(1_000);
    // This request goes to the address that the publisher has left.
    world.send_rtcp(receiver, |writer| _ = writer.pli(wire::Ssrc(500)));
    let start = world.now;
    move_away(&mut world, publisher);
    assert_eq!(world.peers[publisher].plis(11, start), [0, 0]);
    world.close_all();
}

#[test]
fn only_encodings_that_are_received_are_asked_for_key_frames() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &["q", "f"]);
    let receiver = world.connected_peer();
    let small = SubscriptionSettings {
        encoding_max: 0,
        ..BEST
    };
    world.subscribe(receiver, track, 500, small);
    for (sequence, (rid, ssrc)) in [(1, ("q", 11)), (1, ("f", 12)), (2, ("q", 11)), (2, ("f", 12))] {
        let packet = video(ssrc, sequence, KEY);
        world.send(publisher, Packet { rid, ..packet });
    }
    world.advance(1_100);
    let start = world.now;
    move_away(&mut world, publisher);
    let plis = [11, 12].map(|ssrc| world.peers[publisher].plis(ssrc, start).len());
    assert_eq!(plis, [1, 0]);
    world.close_all();
}

#[test]
fn a_receiver_that_moves_soon_after_another_gets_a_key_frame_of_its_own() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &[]);
    let receivers = [world.connected_peer(), world.connected_peer()];
    for (receiver, ssrc) in receivers.into_iter().zip([500, 600]) {
        world.subscribe(receiver, track, ssrc, BEST);
    }
    world.send(publisher, video(11, 1, KEY));
    world.live(2_000);
    let start = world.now;
    move_away(&mut world, receivers[0]);
    world.advance(100);
    // The copy for the other receiver goes to the address that it has left.
    world.send(publisher, video(11, 2, KEY));
    world.advance(200);
    move_away(&mut world, receivers[1]);
    world.live(200);
    world.send(publisher, video(11, 3, KEY));
    world.live(2_000);
    assert_eq!(world.peers[publisher].plis(11, start), [0, 500]);
    world.close_all();
}

#[test]
fn a_receiver_on_another_path_gets_key_frames_and_an_estimate_of_that_path() {
    let (mut world, mut camera, mut downlink) = call(250_000);
    seconds(&mut world, &mut camera, &mut downlink, 5);
    assert_eq!(encoding(&world, &downlink), Some(0));
    downlink.link.rate = 20_000_000;
    let (start, receiver) = (world.now, downlink.peer);
    move_away(&mut world, receiver);
    assert_eq!(world.peers[camera.peer].plis(11, start), [0]);
    seconds(&mut world, &mut camera, &mut downlink, 4);
    assert_eq!(encoding(&world, &downlink), Some(2));
    world.close_all();
}

/// The track that was published last.
fn published(world: &World) -> Publication {
    let mut published = world.commands.iter().rev().filter_map(|command| match command {
        Command::Publish(publication) => Some(publication.clone()),
        _ => None,
    });
    published.next().expect("a track was published")
}

/// A publisher closes its transport, and its track has another one after this time.
fn hand_over(after_ms: u64) -> (World, usize, usize) {
    let mut world = World::new();
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    let track = world.publish_video(publisher, &[]);
    world.subscribe(receiver, track, 500, BEST);
    world.send(publisher, video(11, 1, DELTA));
    world.send(publisher, video(11, 2, KEY));
    assert_eq!(world.peers[receiver].rtp.len(), 1);
    let published = published(&world);
    let next = world.connected_peer();
    world.peers[publisher].hang_up(world.now);
    world.settle();
    world.advance(after_ms);
    world.command(Command::Publish(Publication {
        transport: world.peers[next].transport,
        ..published
    }));
    world.send(next, video(11, 50, DELTA));
    world.send(next, video(11, 51, KEY));
    (world, next, receiver)
}

#[test]
fn a_track_outlives_a_transport_that_its_publisher_has_closed() {
    let (mut world, next, receiver) = hand_over(500);
    assert_eq!(world.peers[receiver].rtp.len(), 2, "the subscription goes on");
    world.advance(2_000);
    world.send(next, video(11, 52, DELTA));
    assert_eq!(world.peers[receiver].rtp.len(), 3, "and the track stays");
    world.close_all();
}

#[test]
fn a_track_without_a_publisher_ends_after_a_while() {
    let (mut world, _, receiver) = hand_over(1_500);
    assert_eq!(world.peers[receiver].rtp.len(), 1, "its subscriptions have ended");
    world.close_all();
}

#[test]
fn a_publisher_is_asked_for_key_frames_as_soon_as_it_can_hear() {
    let mut world = World::new();
    let receiver = world.connected_peer();
    world.idle_hands = false;
    let publisher = world.add_peer(DtlsRole::Server, Vec::new());
    let track = world.publish_video(publisher, &[]);
    let mut described = published(&world);
    described.encodings[0].ssrc = Some(wire::Ssrc(11));
    world.command(Command::Publish(described));
    world.subscribe(receiver, track, 500, BEST);
    world.check(publisher, true);
    world.start_dtls(publisher);
    world.advance(100);
    world.idle_hands = true;
    let start = world.now;
    world.advance(10);
    assert_eq!(
        world.peers[publisher].plis(11, start).len(),
        1,
        "not half a second after the first request"
    );
    world.close_all();
}
