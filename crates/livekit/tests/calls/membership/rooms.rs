//! Rooms come with their first participant and go some time after their last.

use std::time::Duration;

use controller::PeerMode::{Dual, Single};
use controller::{AdminRequest, Config, Event, Population};
use livekit::Refusal;
use livekit_protocol::leave_request::Action;
use livekit_protocol::participant_info::State;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::signal_response::Message;
use livekit_protocol::{DisconnectReason, LeaveRequest, MuteTrackRequest, Ping, TrackSource};
use southbound::Command;
use wire::MediaKind;

use crate::world::{UNIX, World, claims, keys};

#[test]
fn a_room_lives_from_its_first_participant_until_some_time_after_its_last() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    assert!(world.events.contains(&Event::RoomStarted {
        room: "lobby".to_owned()
    }));
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    assert_eq!(world.closed[&ada.connection], 1000);
    assert_eq!(world.controller.population().rooms, 1);
    world.advance(Duration::from_secs(21));
    assert_eq!(world.controller.population(), Population::default());
    assert!(world.events.contains(&Event::RoomFinished {
        room: "lobby".to_owned()
    }));
}

#[test]
fn a_room_ends_although_an_agent_is_left_in_it() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let mut agent = claims("agent");
    agent.kind = "agent".to_owned();
    let agent = world.join_as(&agent, Single);
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    world.advance(Duration::from_secs(21));
    assert_eq!(world.controller.population(), Population::default());
    assert_eq!(world.closed[&agent.connection], 1000);
}

#[test]
fn a_room_that_is_entered_again_in_time_is_the_same() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    world.advance(Duration::from_secs(10));
    let bob = world.join("bob", Single);
    world.advance(Duration::from_secs(30));
    assert_eq!(world.controller.population().rooms, 1);
    world.say(bob.connection, Said::Leave(LeaveRequest::default()));
    world.advance(Duration::from_secs(19));
    assert_eq!(
        world.controller.population().rooms,
        1,
        "the time counts from the last departure"
    );
}

#[test]
fn rooms_do_not_see_each_other() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let mut elsewhere = claims("bob");
    elsewhere.video.room = "attic".to_owned();
    world.clear();
    world.join_as(&elsewhere, Single);
    assert_eq!(world.seen(ada.connection, "bob"), None);
}

#[test]
fn a_missing_room_is_not_found_if_joining_creates_none() {
    let world = World::with(Config {
        auto_create: false,
        ..Config::new(keys())
    });
    let refusal = world
        .admission(&claims("ada"), Single, "")
        .check(&world.controller, world.now)
        .map_err(Refusal::from)
        .unwrap_err();
    assert_eq!(refusal.status, 404);
    assert!(refusal.text.contains("requested room does not exist"));
}

#[test]
fn a_full_room_takes_nobody_but_those_who_are_in_it() {
    let mut world = World::with(Config {
        participants_max: 1,
        ..Config::new(keys())
    });
    world.join("ada", Single);
    let vet = |world: &World, identity| {
        world
            .admission(&claims(identity), Single, "")
            .check(&world.controller, world.now)
            .map_err(Refusal::from)
    };
    assert_eq!(vet(&world, "bob").unwrap_err().status, 503);
    assert_eq!(vet(&world, "ada"), Ok(()));
}

#[test]
fn a_leaver_is_gone_for_everybody_with_all_its_tracks() {
    let mut world = World::new();
    let (mut ada, mut bob) = (world.join("ada", Single), world.join("bob", Dual));
    world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
    world.publish(&mut bob, MediaKind::Audio, TrackSource::Microphone);
    world.settle(&mut ada);
    world.settle(&mut bob);
    world.clear();
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    assert!(matches!(world.new_commands(), [Command::Close { .. }]));
    let seen = world.seen(bob.connection, "ada").unwrap();
    assert_eq!(
        (seen.state(), seen.disconnect_reason()),
        (State::Disconnected, DisconnectReason::ClientInitiated)
    );
    let population = world.controller.population();
    assert_eq!(
        (
            population.participants,
            population.publications,
            population.subscriptions
        ),
        (1, 1, 0)
    );
}

#[test]
fn the_newer_of_two_with_one_identity_stays() {
    let mut world = World::new();
    let old = world.join("ada", Single);
    let new = world.join("ada", Single);
    let leave = world.expect_leave(old.connection);
    assert_eq!(
        (leave.reason(), leave.action()),
        (DisconnectReason::DuplicateIdentity, Action::Disconnect)
    );
    assert!(world.closed.contains_key(&old.connection) && !world.closed.contains_key(&new.connection));
    assert_eq!(world.controller.population().participants, 1);
    world.hang_up(old.connection);
    assert_eq!(world.controller.population().participants, 1);
}

#[test]
fn a_participant_without_media_for_a_minute_has_to_start_over() {
    let mut world = World::new();
    let ada = world.join_unconnected(&claims("ada"), Single);
    world.advance(Duration::from_secs(59));
    assert_eq!(world.controller.population().participants, 1);
    world.advance(Duration::from_secs(2));
    assert_eq!(world.expect_leave(ada.connection).action(), Action::Reconnect);
    assert_eq!(world.controller.population().participants, 0);
}

#[test]
fn both_kinds_of_ping_are_answered_in_milliseconds() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    world.advance(Duration::from_secs(2));
    world.say(ada.connection, Said::Ping(1));
    world.say(ada.connection, Said::PingReq(Ping { timestamp: 77, rtt: 5 }));
    let now = (UNIX + Duration::from_secs(2)).as_millis() as i64;
    let pong = world.expect(ada.connection, "pong", |message| match message {
        Message::Pong(time) => Some(*time),
        _ => None,
    });
    let answer = world.expect(ada.connection, "pong_resp", |message| match message {
        Message::PongResp(pong) => Some((pong.last_ping_timestamp, pong.timestamp)),
        _ => None,
    });
    assert_eq!((pong, answer), (now, (77, now)));
}

#[test]
fn muting_is_seen_by_others_and_known_to_the_agent() {
    let mut world = World::with(Config {
        remote_unmute: true,
        ..Config::new(keys())
    });
    let (mut ada, bob) = (world.join("ada", Single), world.join("bob", Single));
    let microphone = world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
    world.clear();
    world.say(
        ada.connection,
        Said::Mute(MuteTrackRequest {
            sid: microphone.sid.clone(),
            muted: true,
        }),
    );
    assert!(world.seen(bob.connection, "ada").unwrap().tracks[0].muted);
    assert!(world.publications()[0].muted);
    let unmute = AdminRequest::MuteTrack {
        room: "lobby".to_owned(),
        identity: "ada".to_owned(),
        track_sid: microphone.sid.clone(),
        muted: false,
    };
    assert!(world.administer(unmute).is_ok());
    let told = world.expect(ada.connection, "mute", |message| match message {
        Message::Mute(mute) => Some(mute.muted),
        _ => None,
    });
    assert!(!told && !world.seen(bob.connection, "ada").unwrap().tracks[0].muted);
}

#[test]
fn deleting_a_room_sends_everybody_home() {
    let mut world = World::new();
    let ada = world.join("ada", Single);
    let room = "lobby".to_owned();
    assert!(world.administer(AdminRequest::DeleteRoom { room }).is_ok());
    let leave = world.expect_leave(ada.connection);
    assert_eq!(
        (leave.reason(), leave.action()),
        (DisconnectReason::RoomDeleted, Action::Disconnect)
    );
    assert_eq!(world.controller.population(), Population::default());
}

#[test]
fn a_recording_is_told_while_somebody_records() {
    let recording = |world: &mut World, connection| {
        let updates = world.take(connection, |message| matches!(message, Message::RoomUpdate(_)));
        let rooms = updates.into_iter().filter_map(|message| match message {
            Message::RoomUpdate(update) => update.room,
            _ => None,
        });
        rooms.map(|room| room.active_recording).collect::<Vec<_>>()
    };
    let by_grant = |hidden| {
        let mut claims = claims("recorder");
        (claims.video.recorder, claims.video.hidden) = (true, hidden);
        claims
    };
    let mut by_kind = claims("egress");
    by_kind.kind = "egress".to_owned();
    for claims in [by_grant(false), by_grant(true), by_kind] {
        let mut world = World::new();
        let bob = world.join("bob", Single);
        world.advance(Duration::from_secs(2));
        assert!(!recording(&mut world, bob.connection).contains(&true));
        let connection = world.open(world.admission(&claims, Single, ""));
        assert_eq!(recording(&mut world, bob.connection), [true], "{claims:?}");
        let joined = world.expect(connection, "join", |message| match message {
            Message::Join(join) => join.room.clone(),
            _ => None,
        });
        assert!(joined.active_recording);
        let another = world.open(world.admission(&by_grant(true), Single, ""));
        world.say(connection, Said::Leave(LeaveRequest::default()));
        world.advance(Duration::from_secs(2));
        let told = recording(&mut world, bob.connection);
        assert!(
            claims.identity() != "egress" || !told.contains(&false),
            "one is left: {told:?}"
        );
        world.say(another, Said::Leave(LeaveRequest::default()));
        assert_eq!(recording(&mut world, bob.connection), [false], "{claims:?}");
    }
}
