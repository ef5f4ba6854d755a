//! An administrator's requests about rooms.

use std::time::Duration;

use controller::{
    AdminError, AdminReply, AdminRequest, Config, CreateRoom, DataContent, EndAction, EndReason, JoinError,
    Notification, Output, PeerMode, Permission, Population, RoomInfo, SendData, UpdateParticipant,
};

use crate::world::{UNIX, World, joining, keys};

fn room(reply: Result<AdminReply, AdminError>) -> RoomInfo {
    match reply {
        Ok(AdminReply::Room(room)) => room,
        other => panic!("a room and not {other:?}"),
    }
}

fn create(name: &str) -> AdminRequest {
    AdminRequest::CreateRoom(CreateRoom {
        name: name.to_owned(),
        ..CreateRoom::default()
    })
}

#[test]
fn rooms_are_listed_all_or_by_name() {
    let mut world = World::new();
    world.join("ada", PeerMode::Dual);
    room(world.ask(create("attic")));
    let mut names = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        match world.ask(AdminRequest::ListRooms { names }) {
            Ok(AdminReply::Rooms(rooms)) => rooms.into_iter().map(|room| room.name).collect::<Vec<_>>(),
            other => panic!("rooms and not {other:?}"),
        }
    };
    assert_eq!(names(&[]), ["attic", "lobby"]);
    assert_eq!(names(&["lobby", "cellar"]), ["lobby"]);
}

#[test]
fn agents_and_recorders_are_not_counted() {
    let mut world = World::new();
    let made = room(world.ask(AdminRequest::CreateRoom(CreateRoom {
        name: "lobby".to_owned(),
        max_participants: Some(1),
        ..CreateRoom::default()
    })));
    assert_eq!(made.num_participants, 0);
    let agent = |identity: &str| {
        let mut join = joining(identity);
        join.claims.kind = "agent".to_owned();
        join
    };
    world.join_with(agent("helper"));
    let ada = world.join("ada", PeerMode::Dual);
    assert_eq!(
        world.controller.check_claims(world.now, &joining("bob").claims),
        Err(JoinError::RoomFull)
    );
    assert_eq!(
        world.controller.check_claims(world.now, &agent("scribe").claims),
        Ok(())
    );
    world.join_with(agent("scribe"));
    assert_eq!(world.controller.population().participants, 3);
    match world.ask(AdminRequest::ListRooms { names: Vec::new() }) {
        Ok(AdminReply::Rooms(rooms)) => assert_eq!(rooms[0].num_participants, 1),
        other => panic!("the room, and not {other:?}"),
    }
    world.request(ada, controller::Request::Leave);
}

#[test]
fn a_recorder_by_grant_takes_no_place_and_keeps_no_room_open() {
    for (kind, recorder, agent) in [("", true, false), ("", false, true), ("egress", false, false)] {
        let mut world = World::new();
        room(world.ask(AdminRequest::CreateRoom(CreateRoom {
            name: "lobby".to_owned(),
            max_participants: Some(1),
            ..CreateRoom::default()
        })));
        let mut join = joining("recorder");
        join.claims.kind = kind.to_owned();
        (join.claims.video.recorder, join.claims.video.agent) = (recorder, agent);
        world.join_with(join);
        assert_eq!(room(world.ask(create("lobby"))).num_participants, 0);
        assert_eq!(world.controller.check_claims(world.now, &joining("ada").claims), Ok(()));
        let ada = world.join("ada", PeerMode::Dual);
        assert_eq!(room(world.ask(create("lobby"))).num_participants, 1);
        world.request(ada, controller::Request::Leave);
        world.advance(Duration::from_secs(30));
        assert_eq!(world.controller.population().rooms, 0, "the recorder does not keep it");
    }
}

#[test]
fn a_participant_that_becomes_a_recorder_or_ceases_to_be_one_is_counted_anew() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    let mut set = |recorder| {
        let mut permission = Permission::of(&joining("ada").claims);
        permission.recorder = recorder;
        let update = UpdateParticipant {
            room: "lobby".to_owned(),
            identity: "ada".to_owned(),
            permission: Some(permission),
            ..UpdateParticipant::default()
        };
        world
            .ask(AdminRequest::UpdateParticipant(update))
            .expect("ada is there");
        room(world.ask(create("lobby"))).num_participants
    };
    assert_eq!((set(true), set(false)), (0, 1));
    set(true);
    world.told(ada);
    world.advance(Duration::from_secs(30));
    assert_eq!(world.controller.population().rooms, 0);
}

#[test]
fn the_hidden_are_counted() {
    let mut world = World::new();
    let mut join = joining("spy");
    join.claims.video.hidden = true;
    let spy = world.join_with(join);
    world.publish(spy);
    let told = room(world.ask(create("lobby")));
    assert_eq!((told.num_participants, told.num_publishers), (1, 1));
}

#[test]
fn a_created_room_has_what_was_asked_for() {
    let mut world = World::new();
    let created = room(world.ask(AdminRequest::CreateRoom(CreateRoom {
        api_key: "devkey".to_owned(),
        name: "lobby".to_owned(),
        empty_timeout: Some(Duration::from_secs(60)),
        departure_timeout: Some(Duration::from_secs(5)),
        max_participants: Some(1),
        metadata: "agenda".to_owned(),
        agents: Vec::new(),
    })));
    assert_eq!((created.name.as_str(), created.created), ("lobby", UNIX));
    assert_eq!((created.max_participants, created.metadata.as_str()), (1, "agenda"));

    world.advance(Duration::from_secs(59));
    assert_eq!(world.controller.population().rooms, 1, "nobody has joined yet");
    let ada = world.join("ada", PeerMode::Dual);
    let full = world.controller.check_admission("devkey", "lobby", "bob", false);
    assert_eq!(full, Err(JoinError::RoomFull));
    world.request(ada, controller::Request::Leave);
    world.advance(Duration::from_secs(4));
    assert_eq!(world.controller.population().rooms, 1);
    world.advance(Duration::from_secs(2));
    assert_eq!(world.controller.population(), Population::default());
}

#[test]
fn an_empty_room_that_nobody_joins_ends() {
    let mut world = World::new();
    room(world.ask(create("lobby")));
    world.advance(Duration::from_secs(299));
    assert_eq!(world.controller.population().rooms, 1);
    world.advance(Duration::from_secs(2));
    assert_eq!(world.controller.population().rooms, 0);
}

#[test]
fn creating_a_room_that_is_there_changes_nothing() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    let before = room(world.ask(create("lobby")));
    world.told(ada);
    let after = room(world.ask(AdminRequest::CreateRoom(CreateRoom {
        name: "lobby".to_owned(),
        metadata: "agenda".to_owned(),
        empty_timeout: Some(Duration::from_secs(1)),
        departure_timeout: Some(Duration::from_secs(1)),
        max_participants: Some(1),
        ..CreateRoom::default()
    })));
    assert_eq!(before, after);
    assert_eq!(world.told(ada), []);
}

#[test]
fn rooms_that_cannot_be_created_are_refused() {
    let mut world = World::with(Config {
        auto_create: false,
        ..Config::new(keys())
    });
    let too_long = "x".repeat(300);
    for name in ["", too_long.as_str()] {
        let refused = world.ask(create(name)).unwrap_err();
        assert!(matches!(refused, AdminError::InvalidArgument(_)), "{refused}");
    }
    let known = world.controller.check_admission("devkey", "lobby", "ada", false);
    assert_eq!(known, Err(JoinError::NoSuchRoom));
    assert_eq!(world.controller.check_admission("devkey", "lobby", "ada", true), Ok(()));
    room(world.ask(create("lobby")));
    assert_eq!(
        world.controller.check_admission("devkey", "lobby", "ada", false),
        Ok(())
    );
}

#[test]
fn a_deleted_room_is_over_for_everybody() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    let delete = || AdminRequest::DeleteRoom {
        room: "lobby".to_owned(),
    };
    assert_eq!(world.ask(delete()), Ok(AdminReply::Done));
    let ended = Notification::Ended {
        reason: EndReason::RoomDeleted,
        action: EndAction::Disconnect,
    };
    assert!(world.told(ada).contains(&ended));
    assert_eq!(world.controller.population(), Population::default());
    assert_eq!(world.ask(delete()), Err(AdminError::RoomNotFound));
}

#[test]
fn everybody_is_told_new_metadata_of_the_room() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    let update = |room: &str, metadata: String| AdminRequest::UpdateRoomMetadata {
        room: room.to_owned(),
        metadata,
    };
    let updated = room(world.ask(update("lobby", "agenda".to_owned())));
    assert_eq!(updated.metadata, "agenda");
    assert_eq!(world.told(ada), [Notification::Room(updated)]);
    let missing = world.ask(update("attic", "agenda".to_owned()));
    assert_eq!(missing, Err(AdminError::RoomNotFound));
    let too_long = world.ask(update("lobby", "x".repeat(70_000))).unwrap_err();
    assert!(matches!(too_long, AdminError::InvalidArgument(_)));
}

#[test]
fn data_goes_to_everybody_or_to_those_named() {
    let mut world = World::new();
    world.join("ada", PeerMode::Dual);
    world.join("bob", PeerMode::Dual);
    let send = |destinations: &[&str], nonce: usize| {
        AdminRequest::SendData(SendData {
            room: "lobby".to_owned(),
            payload: b"hello".as_slice().into(),
            reliable: true,
            destinations: destinations.iter().map(|name| (*name).to_owned()).collect(),
            topic: Some("chat".to_owned()),
            nonce: vec![1; nonce],
            ..SendData::default()
        })
    };
    for (destinations, receivers) in [(&[][..], 2), (&["bob"][..], 1), (&["eve"][..], 0)] {
        assert_eq!(world.ask(send(destinations, 16)), Ok(AdminReply::Done));
        let sent = world.out.iter().find_map(|output| match output {
            Output::Data { to, data, .. } => Some((to.len(), data.clone())),
            _ => None,
        });
        assert_eq!(sent.as_ref().map_or(0, |(to, _)| *to), receivers);
        let Some((_, data)) = sent else { continue };
        assert_eq!((data.sender_identity.as_str(), data.reliable), ("", true));
        let DataContent::User(user) = data.content else {
            panic!("bytes of the application");
        };
        assert_eq!(
            (&user.payload[..], user.topic.as_deref()),
            (&b"hello"[..], Some("chat"))
        );
    }
    let bad_nonce = world.ask(send(&[], 5)).unwrap_err();
    assert!(matches!(bad_nonce, AdminError::InvalidArgument(_)));
    let nowhere = world.ask(AdminRequest::SendData(SendData {
        room: "attic".to_owned(),
        ..SendData::default()
    }));
    assert_eq!(nowhere, Err(AdminError::RoomNotFound));
}
