//! Participants that give way to others, and those that do not.

use controller::limits::GIVES_WAY_AFTER;
use controller::{Config, JoinError, Notification, Output, PeerMode};
use southbound::{Command, Notice, TransportId};

use crate::world::{NODE, World, joining, keys};

#[test]
fn a_full_room_removes_those_who_never_connect() {
    let mut world = World::with(Config {
        participants_max: 2,
        ..Config::new(keys())
    });
    let idle = world.join("idle", PeerMode::Dual);
    let connected = world.join("ada", PeerMode::Dual);
    let transports: Vec<_> = world.out.iter().filter_map(opened).collect();
    for transport in transports {
        world.notice(NODE, Notice::Connected { transport, srtp: None });
    }
    assert_eq!(
        world.controller.check_claims(world.now, &joining("bob").claims),
        Err(JoinError::RoomFull),
        "they are new"
    );
    world.now += GIVES_WAY_AFTER;
    assert_eq!(world.controller.check_claims(world.now, &joining("bob").claims), Ok(()));
    let bob = world.join("bob", PeerMode::Dual);
    assert!(
        world
            .told(idle)
            .iter()
            .any(|told| matches!(told, Notification::Ended { .. }))
    );
    assert!(
        !world
            .told(connected)
            .iter()
            .any(|told| matches!(told, Notification::Ended { .. }))
    );
    assert!(
        world
            .told(bob)
            .iter()
            .any(|told| matches!(told, Notification::Joined(_)))
    );
    assert_eq!(world.controller.population().participants, 2);
    assert_eq!(
        world.controller.check_claims(world.now, &joining("cyd").claims),
        Err(JoinError::RoomFull)
    );
}

fn opened(output: &Output) -> Option<TransportId> {
    match output {
        Output::Command {
            command: Command::Open(open),
            ..
        } => Some(open.transport),
        _ => None,
    }
}

#[test]
fn an_agent_replaces_no_other_participant() {
    let mut world = World::new();
    let alice = world.join("alice", PeerMode::Dual);
    let mut agent = joining("alice");
    agent.claims.kind = "agent".to_owned();
    assert_eq!(
        world.controller.check_claims(world.now, &agent.claims),
        Err(JoinError::IdentityTaken)
    );
    let refused = world.join_with(agent.clone());
    assert!(
        !world
            .told(refused)
            .iter()
            .any(|told| matches!(told, Notification::Joined(_)))
    );
    assert!(world.told(alice).is_empty());
    agent.claims.sub = "helper".to_owned();
    world.join_with(agent.clone());
    assert_eq!(
        world.controller.check_claims(world.now, &agent.claims),
        Ok(()),
        "its own"
    );
}
