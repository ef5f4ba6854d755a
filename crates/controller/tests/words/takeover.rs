//! A controller goes on with the participants that another one served.

use std::collections::BTreeMap;
use std::time::Duration;

use controller::{
    Config, ConnectionId, CreateRoom, Input, MuteTrack, Notification, Output, PeerMode, Request, RestoreError, Resume,
    SavedParticipant, SavedRoom,
};
use southbound::{Command, ControllerId, NodeId, Notice};

use crate::world::{World, claims, keys};

/// A controller with a name of its own, as each has that starts.
fn successor() -> World {
    World::with(Config {
        controller: ControllerId::new(2),
        ..Config::new(keys())
    })
}

/// The room as a process leaves it to the next.
fn written(world: &mut World) -> String {
    let room = world.controller.takeover().room("lobby");
    serde_json::to_string(&(room, world.controller.takeover().participants("lobby"))).expect("rooms can be written")
}

fn restore(world: &mut World, written: &str) -> Result<(), RestoreError> {
    let (room, participants) = serde_json::from_str(written).expect("what was written can be read");
    restore_parts(world, room, participants)
}

fn restore_parts(world: &mut World, room: SavedRoom, saved: Vec<SavedParticipant>) -> Result<(), RestoreError> {
    world.out.clear();
    world
        .controller
        .takeover()
        .restore(world.now, "lobby", room, saved, &mut world.out)
}

#[test]
fn another_controller_goes_on_with_a_room() {
    let mut before = World::new();
    let ada = before.join("ada", PeerMode::Dual);
    before.join("bob", PeerMode::Dual);
    let track = before.publish(ada);
    let published = before.out.iter().find_map(|output| match output {
        Output::Command {
            command: Command::Publish(publication),
            ..
        } => Some(publication.clone()),
        _ => None,
    });
    let published = published.expect("the node was told of the track");

    let mut after = successor();
    assert_eq!(restore(&mut after, &written(&mut before)), Ok(()));
    assert_eq!(written(&mut after), written(&mut before));
    assert_eq!(after.controller.population(), before.controller.population());
    let commands = after.out.iter().filter_map(|output| match output {
        Output::Command { command, .. } => Some(command.clone()),
        _ => None,
    });
    let all_are_heard = Command::SetForwarding {
        track: published.track,
        forwarding: true,
    };
    let commands: Vec<_> = commands.collect();
    assert_eq!(commands, [all_are_heard], "the node keeps its tables");

    assert_eq!(
        restore(&mut after, &written(&mut before)),
        Err(RestoreError::RoomExists)
    );

    let connection = ConnectionId(77);
    let resume = Resume {
        claims: claims("ada"),
        mode: PeerMode::Dual,
        sid: before.controller.takeover().participants("lobby")[0].sid.clone(),
        sync_state: None,
        offer: None,
    };
    let resume = Box::new(resume);
    after.handle(Input::Resume { connection, resume });
    let told = after.told(connection);
    assert!(matches!(told.first(), Some(Notification::Resumed(_))), "{told:?}");
    let mute = MuteTrack {
        sid: track.sid,
        muted: true,
    };
    after.request(connection, Request::MuteTrack(mute));
    let muted = Command::Publish(southbound::Publication {
        muted: true,
        ..published
    });
    let is_told = |output: &Output| matches!(output, Output::Command { command, .. } if *command == muted);
    assert!(after.out.iter().any(is_told), "the same track of the same transport");
    after.request(connection, Request::Leave);
    assert_eq!(after.controller.population().participants, 1);
}

#[test]
fn clients_that_do_not_come_back_are_removed_by_the_next_controller() {
    let mut before = World::new();
    let ada = before.join("ada", PeerMode::Dual);
    before.publish(ada);
    let mut after = successor();
    assert_eq!(restore(&mut after, &written(&mut before)), Ok(()));
    after.advance(controller::limits::RESUME_TIMEOUT);
    assert_eq!(after.controller.population().participants, 0);
}

/// The knowledge of a node, by commands that replace or remove one another.
#[derive(Debug, Default, PartialEq)]
struct Tables(BTreeMap<String, Command>);

impl Tables {
    fn of<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> Self {
        let mut tables = Self::default();
        for output in outputs {
            if let Output::Command { room, command, .. } = output {
                assert_eq!(room.as_deref(), Some("lobby"));
                tables.take(command);
            }
        }
        tables
    }

    fn take(&mut self, command: &Command) {
        let entries = &mut self.0;
        let key = match command {
            Command::Open(open) => format!("open {:?}", open.transport),
            Command::Connect { transport, .. } => format!("connect {transport:?}"),
            Command::Publish(publication) => format!("publish {:?}", publication.track),
            Command::Subscribe(subscription) => format!("subscribe {:?}", subscription.subscription),
            Command::SetForwarding { track, .. } => format!("forwarding {track:?}"),
            Command::Unsubscribe { subscription } => {
                entries.remove(&format!("subscribe {subscription:?}"));
                return;
            }
            other => panic!("{other:?}"),
        };
        entries.insert(key, command.clone());
    }
}

#[test]
fn the_next_controller_says_everything_of_a_room_again() {
    let mut before = World::new();
    let ada = before.join("ada", PeerMode::Dual);
    let bob = before.join("bob", PeerMode::Dual);
    before.answer(bob);
    before.publish(ada);
    before.answer(bob);
    before.said.append(&mut before.out);
    let mut after = successor();
    assert_eq!(restore(&mut after, &written(&mut before)), Ok(()));
    after.out.clear();
    after
        .controller
        .takeover()
        .repeat(after.now, "lobby", NodeId(1), &mut after.out);
    let repeated = Tables::of(&after.out);
    let mut expected = Tables::of(&before.said);
    for command in repeated
        .0
        .values()
        .filter(|command| matches!(command, Command::SetForwarding { .. }))
    {
        expected.take(command);
    }
    assert!(
        repeated
            .0
            .values()
            .any(|command| matches!(command, Command::Subscribe(_)))
    );
    assert_eq!(repeated, expected);

    after.out.clear();
    after
        .controller
        .takeover()
        .repeat(after.now, "lobby", NodeId(9), &mut after.out);
    assert_eq!(
        Tables::of(&after.out).0.len(),
        1,
        "nobody is on another node, and voices are of the room"
    );
}

#[test]
fn a_subscription_to_a_track_that_was_not_saved_ends() {
    let mut before = World::new();
    let ada = before.join("ada", PeerMode::Dual);
    before.publish(ada);
    before.join("bob", PeerMode::Dual);
    let room = before.controller.takeover().room("lobby").expect("there is a room");
    let mut saved = before.controller.takeover().participants("lobby");
    assert_eq!(saved[1].subscriptions.len(), 1);
    saved.remove(0);
    let mut after = successor();
    assert_eq!(restore_parts(&mut after, room, saved), Ok(()));
    assert_eq!(after.controller.population().subscriptions, 0);
}

#[test]
fn a_track_that_was_saved_after_its_receivers_gets_its_subscriptions() {
    let mut before = World::new();
    let ada = before.join("ada", PeerMode::Dual);
    before.join("bob", PeerMode::Dual);
    let early = before.controller.takeover().participants("lobby");
    before.publish(ada);
    let room = before.controller.takeover().room("lobby").expect("there is a room");
    let late = before.controller.takeover().participants("lobby");
    let mut after = successor();
    let saved = vec![late[0].clone(), early[1].clone()];
    assert_eq!(restore_parts(&mut after, room, saved), Ok(()));
    assert_eq!(after.controller.population().subscriptions, 1);
}

#[test]
fn a_room_keeps_its_own_settings() {
    let mut before = World::new();
    let settings = CreateRoom {
        metadata: "about".to_owned(),
        departure_timeout: Some(Duration::from_secs(77)),
        max_participants: Some(3),
        ..CreateRoom::default()
    };
    before.join_to("ada", settings);
    let mut after = successor();
    assert_eq!(restore(&mut after, &written(&mut before)), Ok(()));
    assert_eq!(
        after.controller.takeover().room("lobby"),
        before.controller.takeover().room("lobby")
    );
}

#[test]
fn rooms_that_change_are_to_be_saved_again() {
    let mut world = World::new();
    let ada = world.join("ada", PeerMode::Dual);
    assert!(
        world.controller.takeover().take_unsaved().is_empty(),
        "nobody saves them"
    );
    world.controller.takeover().note_unsaved();
    world.publish(ada);
    assert_eq!(world.controller.takeover().take_unsaved(), ["lobby".into()]);
    assert!(world.controller.takeover().take_unsaved().is_empty());
    world.notice(NodeId(1), Notice::Audio(Vec::new()));
    assert!(
        world.controller.takeover().take_unsaved().is_empty(),
        "a measurement changes nothing"
    );
    world.request(ada, Request::Leave);
    assert_eq!(world.controller.takeover().take_unsaved(), ["lobby".into()]);
}
