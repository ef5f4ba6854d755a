//! Limits for API keys.

use access::Claims;
use controller::{AdminError, AdminRequest, Config, CreateRoom, JoinError, PeerMode, Quota, Quotas, Request, Scenario};
use controller::{ConnectionId, Join, Notification, Output};
use southbound::Command;

use crate::world::{World, claims, joining, keys};

fn limited(quota: Quota) -> World {
    let quotas = Quotas {
        keys: [("devkey".to_owned(), quota)].into(),
        default: Quota::default(),
    };
    World::with(Config {
        quotas,
        ..Config::new(keys())
    })
}

fn join(world: &mut World, key: &str, room: &str, identity: &str) -> ConnectionId {
    let mut claims = Claims {
        iss: key.to_owned(),
        ..claims(identity)
    };
    claims.video.room = room.to_owned();
    world.join_with(Join {
        claims,
        ..joining(identity)
    })
}

fn has_joined(world: &World, connection: ConnectionId) -> bool {
    let told = world.told(connection);
    told.iter().any(|told| matches!(told, Notification::Joined(_)))
}

/// The limits that the agent was told with the last input, in order.
fn limits(world: &World) -> Vec<Option<u64>> {
    let limits = world.out.iter().filter_map(|output| match output {
        Output::Command {
            command: Command::SetDownlinkLimit { limit, .. },
            ..
        } => Some(*limit),
        _ => None,
    });
    limits.collect()
}

#[test]
fn a_key_creates_no_more_rooms_than_it_may() {
    let mut world = limited(Quota {
        rooms: Some(1),
        ..Quota::default()
    });
    let create = |key: &str, name: &str| {
        AdminRequest::CreateRoom(CreateRoom {
            api_key: key.to_owned(),
            name: name.to_owned(),
            ..CreateRoom::default()
        })
    };
    assert!(world.ask(create("devkey", "attic")).is_ok());
    assert!(world.ask(create("devkey", "attic")).is_ok(), "it is there already");
    assert_eq!(
        world.ask(create("devkey", "cellar")),
        Err(AdminError::TooManyRoomsOfKey)
    );
    let refused = world.controller.check_admission("devkey", "cellar", "ada", true);
    assert_eq!(refused, Err(JoinError::TooManyRoomsOfKey));
    let connection = join(&mut world, "devkey", "cellar", "ada");
    assert!(!has_joined(&world, connection), "also if the front end did not ask");
    assert!(
        world.ask(create("other", "cellar")).is_ok(),
        "other keys are not concerned"
    );
    let connection = join(&mut world, "devkey", "cellar", "ada");
    assert!(
        has_joined(&world, connection),
        "another key's room is no room of this one"
    );
    assert!(
        world
            .ask(AdminRequest::DeleteRoom {
                room: "attic".to_owned()
            })
            .is_ok()
    );
    assert!(
        world.ask(create("devkey", "attic")).is_ok(),
        "a room that ended counts no more"
    );
}

#[test]
fn a_key_has_no_more_participants_than_it_may() {
    let mut world = limited(Quota {
        participants: Some(2),
        ..Quota::default()
    });
    let ada = join(&mut world, "devkey", "lobby", "ada");
    join(&mut world, "devkey", "attic", "bob");
    let check =
        |world: &World, key: &str, identity: &str| world.controller.check_admission(key, "lobby", identity, true);
    assert_eq!(check(&world, "devkey", "eve"), Err(JoinError::TooManyParticipantsOfKey));
    assert_eq!(check(&world, "other", "eve"), Ok(()));
    assert_eq!(check(&world, "devkey", "ada"), Ok(()), "it is replaced");
    let again = join(&mut world, "devkey", "lobby", "ada");
    assert!(has_joined(&world, again));
    world.request(ada, Request::Leave);
    assert_eq!(check(&world, "devkey", "eve"), Err(JoinError::TooManyParticipantsOfKey));
    world.request(again, Request::Leave);
    assert_eq!(check(&world, "devkey", "eve"), Ok(()));
}

#[test]
fn participants_of_a_key_share_its_bitrate() {
    let mut world = limited(Quota {
        bitrate: Some(8_000_000),
        ..Quota::default()
    });
    join(&mut world, "devkey", "lobby", "ada");
    assert_eq!(limits(&world), [Some(8_000_000)]);
    join(&mut world, "other", "lobby", "eve");
    assert_eq!(limits(&world), [], "other keys are not limited");
    let bob = join(&mut world, "devkey", "attic", "bob");
    assert_eq!(limits(&world), [Some(4_000_000), Some(4_000_000)]);
    world.request(
        bob,
        Request::SimulateFault(Some(Scenario::DownlinkLimit(Some(1_000_000)))),
    );
    assert_eq!(limits(&world), [Some(1_000_000)], "the lower limit holds");
    world.request(bob, Request::SimulateFault(Some(Scenario::DownlinkLimit(None))));
    assert_eq!(limits(&world), [Some(4_000_000)]);
    world.request(bob, Request::Leave);
    assert_eq!(limits(&world), [Some(8_000_000)]);
    world.out.clear();
    let now = world.now;
    world.controller.set_quotas(now, Quotas::default(), &mut world.out);
    assert_eq!(limits(&world), [None]);
}

#[test]
fn with_one_connection_the_limit_is_that_of_the_connection() {
    let mut world = limited(Quota {
        bitrate: Some(8_000_000),
        ..Quota::default()
    });
    let ada = world.join("ada", PeerMode::Single);
    assert_eq!(limits(&world), [], "there is no transport yet");
    world.request(ada, Request::Offer(crate::world::offer("microphone")));
    assert_eq!(limits(&world), [Some(8_000_000)]);
}
