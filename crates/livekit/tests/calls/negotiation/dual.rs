//! Two peer connections: the client offers the one it publishes on, the server the one it receives
//! on.

use controller::Counter;
use controller::PeerMode::{Dual, Single};
use livekit_protocol::participant_info::State;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{TrackSource, UpdateSubscription};
use southbound::{Command, DtlsRole};
use std::time::Duration;
use wire::MediaKind;
use wire::sdp::{Direction, SectionKind, Setup};

use crate::browser::{Browser, parse};
use crate::world::{World, claims, described};

#[test]
fn the_server_offers_at_once_what_there_is() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let camera = world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.clear();
    let bob = world.join_unconnected(&claims("bob"), Dual);
    let offer = world.expect(bob.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let description = parse(&offer.sdp);
    let [data, video] = &description.sections[..] else {
        panic!("{description:?}")
    };
    assert_eq!((&data.kind, data.setup), (&SectionKind::Data, Some(Setup::ActPass)));
    assert_eq!(video.direction, Direction::SendOnly);
    assert_eq!(offer.mid_to_track_id[video.mid.as_str()], camera.sid);
    let Some(Command::Open(open)) = world.new_commands().first() else {
        panic!("{:?}", world.new_commands())
    };
    let labels: Vec<_> = open
        .channels
        .iter()
        .map(|channel| (&*channel.label, channel.ordered))
        .collect();
    assert_eq!(labels, [("_reliable", true), ("_lossy", false), ("_data_track", false)]);
    assert!(
        world.subscriptions().is_empty(),
        "nothing is sent before the client has agreed"
    );

    let answer = described("answer", Browser::answer(&offer.sdp), offer.id);
    world.say(bob.connection, Said::Answer(answer));
    let Some(Command::Connect { remote, .. }) = world.new_commands().get(1) else {
        panic!("{:?}", world.new_commands())
    };
    assert_eq!(remote.dtls, DtlsRole::Server);
    assert_eq!(world.subscriptions().len(), 1);
}

#[test]
fn a_client_that_waits_for_the_handshake_gets_one_from_us() {
    let mut world = World::new();
    let bob = world.join_unconnected(&claims("bob"), Dual);
    let offer = world.expect(bob.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let answer = Browser::answer(&offer.sdp).replace("a=setup:active", "a=setup:passive");
    world.say(bob.connection, Said::Answer(described("answer", answer, offer.id)));
    let roles = world.commands.iter().filter_map(|command| match command {
        Command::Connect { remote, .. } => Some(remote.dtls),
        _ => None,
    });
    assert_eq!(roles.collect::<Vec<_>>(), [DtlsRole::Client]);
}

#[test]
fn both_modes_meet_in_one_room() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Dual), world.join("bob", Single));
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    world.publish(&mut bob, MediaKind::Audio, TrackSource::Microphone);
    world.settle(&mut bob);
    world.settle(&mut ada);
    let receivers: Vec<_> = world
        .subscriptions()
        .iter()
        .map(|subscription| subscription.transport)
        .collect();
    assert_eq!(receivers.len(), 3);
    assert_eq!(world.transports_of(&ada).len(), 2);
    assert_eq!(world.seen(bob.connection, "ada").unwrap().state(), State::Active);
}

#[test]
fn one_offer_is_out_at_a_time_and_changes_go_into_the_next() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let bob = world.join("bob", Dual);
    world.clear();
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    let offers = world.take(bob.connection, |message| matches!(message, Message::Offer(_)));
    let [Message::Offer(first)] = &offers[..] else {
        panic!("{offers:?}")
    };
    let answer = described("answer", Browser::answer(&first.sdp), first.id);
    world.say(bob.connection, Said::Answer(answer));
    let offers = world.take(bob.connection, |message| matches!(message, Message::Offer(_)));
    let [Message::Offer(second)] = &offers[..] else {
        panic!("{offers:?}")
    };
    assert_eq!(second.mid_to_track_id.len(), 2);
    assert!(parse(&second.sdp).version > parse(&first.sdp).version);
}

#[test]
fn an_answer_to_nothing_is_counted_and_changes_nothing() {
    let mut world = World::new();
    let bob = world.join("bob", Dual);
    world.say(bob.connection, Said::Answer(described("answer", String::new(), 99)));
    assert_eq!(world.count(Counter::StaleDescription), 1);
    assert!(world.closed.is_empty());
}

#[test]
fn a_client_that_never_answers_has_to_start_over() {
    let mut world = World::new();
    let mut ada = world.join("ada", Single);
    let bob = world.join("bob", Dual);
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.advance(Duration::from_secs(16));
    let leave = world.expect_leave(bob.connection);
    assert_eq!(leave.action(), livekit_protocol::leave_request::Action::Reconnect);
}

#[test]
fn a_track_comes_back_where_it_was() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Dual));
    let tracks =
        [TrackSource::Camera, TrackSource::ScreenShare].map(|source| world.publish(&mut ada, MediaKind::Video, source));
    world.settle(&mut bob);
    let track_sids: Vec<_> = tracks.iter().map(|track| track.sid.clone()).collect();
    let stop = UpdateSubscription {
        track_sids: track_sids.clone(),
        subscribe: false,
        ..UpdateSubscription::default()
    };
    world.say(bob.connection, Said::Subscription(stop));
    world.settle(&mut bob);
    let again = UpdateSubscription {
        track_sids: vec![track_sids[1].clone()],
        subscribe: true,
        ..UpdateSubscription::default()
    };
    world.say(bob.connection, Said::Subscription(again));
    let offer = world.expect(bob.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let description = parse(&offer.sdp);
    let video = &description.sections[2];
    assert_eq!(offer.mid_to_track_id[video.mid.as_str()], track_sids[1]);
    assert_eq!(video.msids[0].stream, format!("{}|screen", ada.sid));
}

#[test]
fn a_section_is_used_again_after_its_track_has_ended() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Dual));
    for round in 0..3 {
        let cid = format!("camera{round}");
        world.announce(&ada, MediaKind::Video, TrackSource::Camera, &cid);
        let mid = ada.browser.publish(MediaKind::Video, &cid);
        world.negotiate(&mut ada);
        world.settle(&mut bob);
        ada.browser.unpublish(mid);
        world.negotiate(&mut ada);
        world.settle(&mut bob);
    }
    let mut ssrcs: Vec<_> = world
        .subscriptions()
        .iter()
        .map(|subscription| subscription.ssrc)
        .collect();
    ssrcs.dedup();
    assert_eq!(ssrcs.len(), 3);
    world.announce(&ada, MediaKind::Video, TrackSource::Camera, "last");
    ada.browser.publish(MediaKind::Video, "last");
    world.negotiate(&mut ada);
    let offer = world.expect(bob.connection, "offer", |message| match message {
        Message::Offer(offer) => Some(offer.clone()),
        _ => None,
    });
    let description = parse(&offer.sdp);
    let [_data, video] = &description.sections[..] else {
        panic!("{description:?}")
    };
    // The browser's track has the first one's id for ever, so the client is told in the only place
    // it looks before.
    let track = &offer.mid_to_track_id[video.mid.as_str()];
    assert_eq!(video.msids[0].stream, format!("{}|{track}", ada.sid));
}
