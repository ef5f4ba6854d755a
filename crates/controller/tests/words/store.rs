//! The bytes that a room keeps for its participants, and how often one is told of them all.

use std::time::Duration;

use access::VideoGrant;
use controller::limits::{GREETING_BURST, PARTICIPANTS_MAX, STORE_POOL_MAX, STORE_SHARE, STORED_MAX};
use controller::{
    AdminError, AdminRequest, ConnectionId, CreateRoom, Input, Join, JoinError, Notification, RefusalReason, Request,
    UpdateMetadata, UpdateParticipant,
};

use crate::world::{World, joining};

/// The longest metadata.
const LONG: usize = 64 << 10;

fn writer(identity: &str) -> Join {
    let mut join = joining(identity);
    join.claims.video = VideoGrant {
        can_update_own_metadata: Some(true),
        ..join.claims.video
    };
    join
}

fn metadata(len: usize) -> UpdateMetadata {
    UpdateMetadata {
        metadata: "x".repeat(len),
        ..UpdateMetadata::default()
    }
}

/// Whether a participant may store metadata of this length; a refusal says why.
fn stores(world: &mut World, connection: ConnectionId, len: usize) -> bool {
    world.request(connection, Request::UpdateMetadata(metadata(len)));
    let told = world.told(connection);
    let refused = told.iter().find_map(|told| match told {
        Notification::Refused { reason, .. } => Some(*reason),
        _ => None,
    });
    assert!(matches!(refused, None | Some(RefusalReason::LimitExceeded)));
    refused.is_none()
}

/// Fills the pool of the room; each participant's name has its number.
fn fill(world: &mut World) -> Vec<ConnectionId> {
    let mut connections = Vec::new();
    for number in 0..=STORE_POOL_MAX / (LONG - STORE_SHARE) {
        let connection = world.join_with(writer(&format!("writer {number}")));
        connections.push(connection);
        if !stores(world, connection, LONG) {
            break;
        }
    }
    connections
}

#[test]
fn a_full_room_refuses_who_stores_more_than_its_share_and_nobody_else() {
    let mut world = World::new();
    let writers = fill(&mut world);
    let last = *writers.last().expect("somebody is there");
    assert!(!stores(&mut world, last, LONG), "the pool is used up");
    assert!(stores(&mut world, last, STORE_SHARE - 512), "its share is its own");
    let by_server = AdminRequest::UpdateParticipant(UpdateParticipant {
        room: "lobby".to_owned(),
        identity: format!("writer {}", writers.len() - 1),
        metadata: "x".repeat(LONG),
        ..UpdateParticipant::default()
    });
    assert_eq!(world.ask(by_server), Err(AdminError::StoreFull));
    let mut join = joining("newcomer");
    assert_eq!(world.controller.check_claims(world.now, &join.claims), Ok(()));
    join.claims.metadata = "x".repeat(LONG);
    assert_eq!(
        world.controller.check_claims(world.now, &join.claims),
        Err(JoinError::StoreFull)
    );
    // Texts that become shorter give their place to others.
    assert!(stores(&mut world, writers[0], 1));
    assert!(stores(&mut world, last, LONG));
    // So do those of one that leaves.
    let connection = writers[1];
    world.handle(Input::Ended { connection });
    assert_eq!(world.controller.check_claims(world.now, &join.claims), Ok(()));
}

#[test]
fn one_that_joins_all_the_time_waits_longer_in_a_large_room() {
    let mut world = World::new();
    fill(&mut world);
    let often = GREETING_BURST as usize / STORE_POOL_MAX;
    let claims = joining("eager").claims;
    for _ in 0..often {
        assert_eq!(world.controller.check_claims(world.now, &claims), Ok(()));
        world.join_with(joining("eager"));
    }
    assert_eq!(
        world.controller.check_claims(world.now, &claims),
        Err(JoinError::TooOften)
    );
    assert_eq!(
        world.controller.check_claims(world.now, &joining("other").claims),
        Ok(())
    );
    let passed = Duration::from_secs(10);
    assert_eq!(world.controller.check_claims(world.now + passed, &claims), Ok(()));
}

#[test]
fn metadata_of_all_rooms_together_is_bounded() {
    let mut world = World::new();
    let create = |name: String| {
        AdminRequest::CreateRoom(CreateRoom {
            name,
            metadata: "x".repeat(LONG),
            ..CreateRoom::default()
        })
    };
    let mut rooms = 0;
    let refused = loop {
        match world.ask(create(format!("room {rooms}"))) {
            Ok(_) => rooms += 1,
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused, AdminError::StoreFull);
    assert!(rooms * LONG > STORED_MAX / 2 && rooms * LONG <= STORED_MAX, "{rooms}");
    let update = |metadata: String| AdminRequest::UpdateRoomMetadata {
        room: "room 0".to_owned(),
        metadata,
    };
    assert!(
        world.ask(update("y".repeat(LONG))).is_ok(),
        "it takes no more than before"
    );
    world
        .ask(AdminRequest::DeleteRoom {
            room: "room 1".to_owned(),
        })
        .unwrap();
    assert!(world.ask(create("another".to_owned())).is_ok());
}

#[test]
fn a_thousand_participants_with_texts_within_their_shares_are_let_in() {
    let mut world = World::new();
    for number in 0..PARTICIPANTS_MAX {
        let mut join = joining(&format!("participant {number}"));
        join.claims.metadata = "x".repeat(4_200);
        assert_eq!(world.controller.check_claims(world.now, &join.claims), Ok(()));
        let connection = world.join_with(join);
        if number + 1 == PARTICIPANTS_MAX {
            let told = world.told(connection);
            let others = told.iter().find_map(|told| match told {
                Notification::Joined(joined) => Some(joined.others.len()),
                _ => None,
            });
            assert_eq!(others, Some(number));
        }
    }
}
