//! Messages that must not be sent are refused with the reason the protocol has for them, are
//! counted, and cost nobody else anything.

use controller::Counter;
use controller::PeerMode::{Dual, Single};
use livekit::Frame;
use livekit_protocol::leave_request::Action;
use livekit_protocol::request_response::Reason;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{SignalRequest, TrackSource};
use prost::Message as _;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wire::MediaKind;

use crate::browser::Browser;
use crate::world::{World, add_track, claims, described};

#[test]
fn a_malformed_message_ends_the_connection_and_not_the_stay() {
    for frame in [Frame::Binary(vec![0xff; 8].into()), Frame::Text("{".into())] {
        let mut world = World::new();
        let ada = world.join("ada", Single);
        world.frame(ada.connection, &frame);
        assert_eq!(
            (world.closed[&ada.connection], world.count(Counter::MalformedMessage)),
            (1007, 1)
        );
        assert_eq!(
            world.controller.population().participants,
            1,
            "it may come back and do better"
        );
    }
}

#[test]
fn oversized_messages_and_floods_end_the_connection() {
    let mut world = World::new();
    let (ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    world.frame(ada.connection, &Frame::Binary(vec![0; (2 << 20) + 1].into()));
    assert_eq!(
        (world.closed[&ada.connection], world.count(Counter::OversizedMessage)),
        (1009, 1)
    );
    for _ in 0..1001 {
        if !world.closed.contains_key(&bob.connection) {
            world.say(bob.connection, Said::Ping(1));
        }
    }
    assert_eq!(
        (world.closed[&bob.connection], world.count(Counter::FloodingConnection)),
        (1008, 1)
    );
}

#[test]
fn a_connection_that_is_over_has_nothing_to_say() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.say(ada.connection, Said::Leave(Default::default()));
    world.say(ada.connection, Said::Ping(1));
    assert_eq!(world.count(Counter::UnknownConnection), 1);
}

#[test]
fn a_description_that_cannot_be_used_means_starting_over() {
    let offer = Browser::new(Single).offer();
    let fingerprint = offer
        .lines()
        .find(|line| line.starts_with("a=fingerprint"))
        .unwrap()
        .to_owned()
        + "\r\n";
    for bad in [
        "nonsense".to_owned(),
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n".to_owned(),
        offer.replace("a=ice-pwd", "a=x-pwd"),
        offer.replace(&fingerprint, ""),
    ] {
        let mut world = World::new();
        let (ada, bob) = (
            world.join_unconnected(&claims("ada"), Single),
            world.join("bob", Single),
        );
        world.say(ada.connection, Said::Offer(described("offer", bad, 1)));
        assert_eq!(world.expect_leave(ada.connection).action(), Action::Reconnect);
        assert_eq!(world.count(Counter::BadDescription), 1);
        assert!(!world.closed.contains_key(&bob.connection));
    }
}

#[test]
fn sections_may_not_change_their_order() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.say(
        ada.connection,
        Said::Offer(described("offer", Browser::new(Dual).offer(), 2)),
    );
    assert_eq!(world.count(Counter::BadDescription), 1);
}

#[test]
fn announcing_without_end_is_refused() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    for number in 0..25 {
        world.say(
            ada.connection,
            Said::AddTrack(add_track(MediaKind::Audio, TrackSource::Unknown, &number.to_string())),
        );
    }
    let mut long = add_track(MediaKind::Audio, TrackSource::Unknown, "long");
    long.name = "x".repeat(2000);
    world.say(ada.connection, Said::AddTrack(long));
    let refused = world.take(ada.connection, |message| matches!(message, Message::RequestResponse(_)));
    assert_eq!(refused.len(), 6);
    assert!(refused.iter().all(
        |message| matches!(message, Message::RequestResponse(response) if response.reason() == Reason::LimitExceeded)
    ));
    assert_eq!(world.count(Counter::LimitExceeded), 6);
}

#[test]
fn mangled_messages_cost_only_their_sender() {
    let mut random = StdRng::seed_from_u64(11);
    for _ in 0..150 {
        let mut world = World::new();
        let mode = if random.random() { Single } else { Dual };
        let (mut ada, mut bob) = (world.join("ada", mode), world.join("bob", Single));
        world.publish(&mut bob, MediaKind::Video, TrackSource::Camera);
        for _ in 0..20 {
            let message = match random.random_range(0..4) {
                0 => Said::AddTrack(add_track(MediaKind::Video, TrackSource::Camera, "camera")),
                1 => Said::Offer(described("offer", ada.browser.offer(), random.random_range(0..9))),
                2 => Said::Answer(described("answer", ada.browser.offer(), random.random_range(0..4))),
                _ => {
                    ada.browser.publish(MediaKind::Video, "camera");
                    Said::Offer(described("offer", ada.browser.offer(), 3))
                }
            };
            let mut bytes = SignalRequest { message: Some(message) }.encode_to_vec();
            for _ in 0..random.random_range(0..6) {
                let position = random.random_range(0..bytes.len());
                match random.random_range(0..3) {
                    0 => bytes[position] = random.random(),
                    1 => _ = bytes.remove(position),
                    _ => bytes[position] = bytes[position].wrapping_add(1),
                }
            }
            if !world.closed.contains_key(&ada.connection) {
                world.frame(ada.connection, &Frame::Binary(bytes.into()));
            }
        }
        assert!(!world.closed.contains_key(&bob.connection));
        world.settle(&mut bob);
        world.say(bob.connection, Said::Ping(1));
        assert!(
            !world
                .take(bob.connection, |message| matches!(message, Message::Pong(_)))
                .is_empty()
        );
    }
}
