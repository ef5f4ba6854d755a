//! Tests of packets in place of missing media, for receivers that learn of a track by its packets.

use super::world::*;
use wire::RtpPacket;

/// Number, timestamp and payload of the packets a peer got.
fn got(world: &World, peer: usize) -> Vec<(u16, u32, Vec<u8>)> {
    let packets = world.peers[peer].rtp.iter();
    let packets = packets.map(|bytes| RtpPacket::parse(bytes).expect("RTP"));
    packets
        .map(|packet| (packet.sequence().0, packet.timestamp().0, packet.payload().to_vec()))
        .collect()
}

fn call(fills: bool) -> (World, usize, usize) {
    let mut world = World::new();
    world.fills = fills;
    let (publisher, receiver) = (world.connected_peer(), world.connected_peer());
    (world, publisher, receiver)
}

#[test]
fn a_muted_microphone_is_silence_until_it_is_heard() {
    let (mut world, publisher, receiver) = call(true);
    let track = world.publish_audio(publisher);
    world.subscribe(receiver, track, 500, BEST);
    world.live(350);
    let before = got(&world, receiver);
    let [(first, ..), .., (_, last, _)] = &before[..] else {
        panic!("{before:?}")
    };
    assert_eq!(before.len(), 3);
    assert!(before.iter().all(|(.., payload)| payload == &[0xf8, 0xff, 0xfe]));
    assert_eq!(*last, 9_600, "two tenths of a second at 48 kHz");
    world.send(publisher, audio(1, 20));
    world.live(1_000);
    let after = got(&world, receiver);
    assert_eq!(after.len(), 4, "media has come");
    let (number, timestamp, payload) = &after[3];
    assert_eq!((*number, &payload[..]), (first + 3, &[1, 2, 3][..]));
    assert!(timestamp > last);
}

#[test]
fn a_muted_camera_is_padding_that_no_decoder_sees() {
    let (mut world, publisher, receiver) = call(true);
    let track = world.publish_video(publisher, &["q", "f"]);
    world.subscribe(receiver, track, 500, BEST);
    world.live(250);
    let before = got(&world, receiver);
    assert_eq!(before.len(), 2);
    assert!(before.iter().all(|(.., payload)| payload.is_empty()));
    for sequence in 1..20 {
        let key = Packet {
            rid: "q",
            ..video(11, sequence, KEY)
        };
        world.send(publisher, key);
        world.live(100);
    }
    let after = got(&world, receiver);
    let padding = after.iter().take_while(|(.., payload)| payload.is_empty()).count();
    assert!(padding < after.len() && after[padding..].iter().all(|(.., payload)| !payload.is_empty()));
    let in_order = after.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
    assert!(in_order, "media goes on behind the padding");
}

#[test]
fn a_subscription_that_is_disabled_is_filled_once_it_is_not() {
    let (mut world, publisher, receiver) = call(true);
    let track = world.publish_audio(publisher);
    let disabled = southbound::SubscriptionSettings { enabled: false, ..BEST };
    world.subscribe(receiver, track, 500, disabled);
    world.live(20_000);
    assert!(got(&world, receiver).is_empty());
    world.subscribe(receiver, track, 500, BEST);
    world.live(150);
    assert_eq!(got(&world, receiver).len(), 1);
}

#[test]
fn filling_has_an_end() {
    let (mut world, publisher, receiver) = call(true);
    let track = world.publish_audio(publisher);
    world.subscribe(receiver, track, 500, BEST);
    world.live(20_000);
    assert_eq!(got(&world, receiver).len(), usize::from(crate::limits::FILLS_MAX));
    world.close_all();
}

#[test]
fn media_that_comes_in_time_needs_nothing_in_its_place() {
    let (mut world, publisher, receiver) = call(true);
    let track = world.publish_audio(publisher);
    world.subscribe(receiver, track, 500, BEST);
    world.live(50);
    world.send(publisher, audio(1, 20));
    world.live(1_000);
    assert_eq!(got(&world, receiver).len(), 1);
}

#[test]
fn a_receiver_that_learns_of_tracks_by_descriptions_gets_media_alone() {
    let (mut world, publisher, receiver) = call(false);
    let track = world.publish_audio(publisher);
    world.subscribe(receiver, track, 500, BEST);
    world.live(1_000);
    assert!(got(&world, receiver).is_empty());
}

#[test]
fn a_subscription_that_ends_is_filled_no_more() {
    let (mut world, publisher, receiver) = call(true);
    let track = world.publish_audio(publisher);
    let subscription = world.subscribe(receiver, track, 500, BEST);
    world.live(150);
    world.command(southbound::Command::Unsubscribe { subscription });
    world.live(1_000);
    assert_eq!(got(&world, receiver).len(), 1);
    world.close_all();
}
