//! Events of rooms, and the webhooks that are made of them.

use std::time::Duration;

use controller::PeerMode::{Dual, Single};
use controller::{AdminRequest, Config, CreateRoom, RoomChange};
use livekit::webhook;
use livekit_protocol::signal_request::Message as Said;
use livekit_protocol::{LeaveRequest, TrackSource};
use serde_json::{Value, json};
use wire::MediaKind;

use crate::world::{UNIX, World, claims, keys};

/// A world whose events are wanted.
fn world() -> World {
    World::with(Config {
        room_events: true,
        ..Config::new(keys())
    })
}

/// The webhooks since the last time, as JSON.
fn webhooks(world: &mut World) -> Vec<Value> {
    let messages = world.room_events.drain(..).map(webhook::Message::new);
    messages
        .map(|message| {
            assert_eq!(message.room, "lobby");
            serde_json::from_slice(&message.body).expect("a body is JSON")
        })
        .collect()
}

/// Their names, with the participant's and the track's.
fn names(world: &mut World) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |webhook: &Value| {
        let parts = [
            text(&webhook["event"]),
            text(&webhook["participant"]["identity"]),
            text(&webhook["track"]["source"]),
        ];
        parts.join(" ").trim_end().to_owned()
    };
    webhooks(world).iter().map(name).collect()
}

#[test]
fn a_call_is_told_from_its_beginning_to_its_end() {
    for mode in [Single, Dual] {
        let mut world = world();
        let mut ada = world.join("ada", mode);
        world.publish(&mut ada, MediaKind::Audio, TrackSource::Microphone);
        let bob = world.join("bob", mode);
        world.say(bob.connection, Said::Leave(LeaveRequest::default()));
        world.say(ada.connection, Said::Leave(LeaveRequest::default()));
        world.advance(Duration::from_secs(21));
        let expected = [
            "room_started",
            "participant_joined ada",
            "track_published ada MICROPHONE",
            "participant_joined bob",
            "participant_left bob",
            "track_unpublished ada MICROPHONE",
            "participant_left ada",
            "room_finished",
        ];
        assert_eq!(names(&mut world), expected);
    }
}

#[test]
fn nothing_is_output_unless_it_is_wanted() {
    let mut world = World::new();
    world.join("ada", Single);
    assert!(world.room_events.is_empty());
    world.controller.set_room_events(true);
    world.join("bob", Single);
    assert_eq!(names(&mut world), ["participant_joined bob"]);
}

#[test]
fn a_participant_whose_media_never_connects_is_told_as_aborted() {
    let mut world = world();
    let ada = world.join_unconnected(&claims("ada"), Single);
    world.say(ada.connection, Said::Leave(LeaveRequest::default()));
    assert_eq!(
        names(&mut world),
        ["room_started", "participant_connection_aborted ada"]
    );
}

#[test]
fn a_track_is_told_after_its_publisher_has_joined() {
    for mode in [Single, Dual] {
        let mut world = world();
        let mut ada = world.join_unconnected(&claims("ada"), mode);
        world.publish(&mut ada, MediaKind::Video, TrackSource::Camera);
        assert_eq!(names(&mut world), ["room_started"]);
        world.connect(&ada);
        assert_eq!(
            names(&mut world),
            ["participant_joined ada", "track_published ada CAMERA"]
        );
        let mut bob = world.join_unconnected(&claims("bob"), mode);
        world.publish(&mut bob, MediaKind::Video, TrackSource::Camera);
        world.say(bob.connection, Said::Leave(LeaveRequest::default()));
        assert_eq!(names(&mut world), ["participant_connection_aborted bob"]);
    }
}

#[test]
fn a_client_that_comes_back_has_not_left() {
    let mut world = world();
    let ada = world.join("ada", Single);
    world.hang_up(ada.connection);
    world.resume(&ada);
    assert_eq!(names(&mut world), ["room_started", "participant_joined ada"]);
}

#[test]
fn a_room_that_is_created_and_deleted_is_told_with_its_options() {
    let mut world = world();
    let request = CreateRoom {
        name: "lobby".to_owned(),
        empty_timeout: Some(Duration::from_secs(77)),
        metadata: "agenda".to_owned(),
        ..CreateRoom::default()
    };
    for _ in 0..2 {
        world.administer(AdminRequest::CreateRoom(request.clone())).unwrap();
    }
    let ada = world.join("ada", Single);
    let room = "lobby".to_owned();
    world.administer(AdminRequest::DeleteRoom { room }).unwrap();
    let told = webhooks(&mut world);
    let names: Vec<_> = told.iter().map(|webhook| webhook["event"].as_str().unwrap()).collect();
    let expected = [
        "room_started",
        "participant_joined",
        "participant_left",
        "room_finished",
    ];
    assert_eq!(names, expected);
    let room = &told[0]["room"];
    assert_eq!((&room["name"], &room["metadata"]), (&json!("lobby"), &json!("agenda")));
    assert_eq!(
        (&room["emptyTimeout"], &room["creationTime"]),
        (&json!(77), &json!("1800000000"))
    );
    assert_eq!(
        room.get("numParticipants"),
        None,
        "fields with their default value are left out"
    );
    assert_eq!(told[1]["room"]["numParticipants"], json!(1));
    assert_eq!(told[1]["participant"]["sid"], json!(ada.sid));
    assert_eq!(told[1]["participant"]["state"], json!("ACTIVE"));
    assert_eq!(told[2]["participant"]["state"], json!("DISCONNECTED"));
    assert_eq!(told[2]["participant"]["disconnectReason"], json!("ROOM_DELETED"));
    for webhook in &told {
        assert!(webhook["id"].as_str().unwrap().starts_with("EV_"));
        assert_eq!(webhook["createdAt"], json!(UNIX.as_secs().to_string()));
        assert_eq!(webhook["room"]["sid"], room["sid"]);
    }
}

#[test]
fn the_end_of_the_server_ends_its_rooms() {
    let mut world = world();
    world.join("ada", Single);
    world.room_events.clear();
    let mut out = Vec::new();
    world.controller.shut_down(world.now, &mut out);
    let changes = out.into_iter().filter_map(|output| match output {
        controller::Output::Room(event) => Some(event.change),
        _ => None,
    });
    let changes: Vec<_> = changes.collect();
    assert!(
        matches!(changes[..], [RoomChange::ParticipantLeft(_), RoomChange::Finished]),
        "{changes:?}"
    );
}
