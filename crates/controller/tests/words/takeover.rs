//! A controller goes on with the participants that another one served.

use controller::{
    Config, ConnectionId, Input, MuteTrack, Notification, Output, PeerMode, Population, Request, RestoreError, Resume,
    SavedParticipant,
};
use southbound::{Command, ControllerId};

use crate::world::{World, claims, keys};

/// A controller with a name of its own, as each has that starts.
fn successor() -> World {
    World::with(Config {
        controller: ControllerId::new(2),
        ..Config::new(keys())
    })
}

/// The room as a process leaves it to the next.
fn written(world: &World) -> String {
    serde_json::to_string(&world.controller.save("lobby")).expect("participants can be written")
}

fn restore(world: &mut World, written: &str) -> Result<(), RestoreError> {
    let saved: Vec<SavedParticipant> = serde_json::from_str(written).expect("what was written can be read");
    world.out.clear();
    world
        .controller
        .restore(world.now, "devkey", "lobby", saved, &mut world.out)
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
    assert_eq!(restore(&mut after, &written(&before)), Ok(()));
    assert_eq!(written(&after), written(&before));
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

    assert_eq!(restore(&mut after, &written(&before)), Err(RestoreError::RoomExists));

    let connection = ConnectionId(77);
    let resume = Resume {
        claims: claims("ada"),
        mode: PeerMode::Dual,
        sid: before.controller.save("lobby")[0].sid.clone(),
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
    assert_eq!(restore(&mut after, &written(&before)), Ok(()));
    after.advance(controller::limits::RESUME_TIMEOUT);
    assert_eq!(after.controller.population().participants, 0);
}

#[test]
fn a_room_that_is_not_whole_is_not_taken_over() {
    let mut before = World::new();
    let ada = before.join("ada", PeerMode::Dual);
    before.publish(ada);
    before.join("bob", PeerMode::Dual);
    let mut saved = before.controller.save("lobby");
    let track = saved[1].subscriptions[0].track;
    saved.remove(0);
    let mut after = successor();
    let refused = after
        .controller
        .restore(after.now, "devkey", "lobby", saved, &mut after.out);
    assert_eq!(refused, Err(RestoreError::NoPublisher { track }));
    assert_eq!(after.controller.population(), Population::default());
}
