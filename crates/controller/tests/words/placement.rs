//! Participants on several media nodes: where newcomers come, and how a node empties that drains.

use std::time::Duration;

use access::RoomNames;
use controller::{
    Config, ConnectionId, Counter, EndAction, EndReason, Join, JoinError, NoNode, NodeStanding, Notification, Output,
    PinnedRooms,
};
use southbound::{Command, NodeId, Notice};

use crate::world::{NODE, World, claims, joining, keys, node};

const OTHER: NodeId = NodeId(2);
const WITHIN: Duration = Duration::from_secs(60);

/// A world with a second node; each is in a region of its own.
fn two_nodes(config: Config) -> World {
    let mut world = World::with(config);
    world.notice(OTHER, Notice::Node(node(OTHER)));
    stand(&mut world, NODE, "eu", None);
    stand(&mut world, OTHER, "us", None);
    world
}

fn stand(world: &mut World, node: NodeId, region: &str, draining: Option<Duration>) {
    let standing = NodeStanding {
        draining,
        region: region.to_owned(),
        ..NodeStanding::default()
    };
    world.controller.placement().set_standing(world.now, node, standing);
}

/// Somebody of a region joins a room. Returns the connection, and the node if there was one.
fn join(world: &mut World, room: &str, identity: &str, region: Option<&str>) -> (ConnectionId, Option<NodeId>) {
    let mut join = Join {
        region: region.map(str::to_owned),
        ..joining(identity)
    };
    join.claims.video.room = room.to_owned();
    let connection = world.join_with(join);
    let opened = world.out.iter().find_map(|output| match output {
        Output::Command {
            node,
            command: Command::Open(open),
            ..
        } => Some((*node, open.transport)),
        _ => None,
    });
    let node = opened.map(|(node, transport)| {
        world.answer(connection);
        world.notice(node, Notice::Connected { transport, srtp: None });
        node
    });
    (connection, node)
}

/// Those of these connections that are told to join again.
fn told_to_move(world: &World, connections: &[ConnectionId]) -> usize {
    let told = connections.iter().filter(|connection| {
        world.told(**connection).contains(&Notification::Ended {
            reason: EndReason::Migration,
            action: EndAction::Reconnect,
        })
    });
    told.count()
}

#[test]
fn each_comes_to_a_node_of_its_region() {
    let mut world = two_nodes(Config::new(keys()));
    assert_eq!(join(&mut world, "lobby", "ada", Some("us")).1, Some(OTHER));
    assert_eq!(
        join(&mut world, "lobby", "bob", None).1,
        Some(OTHER),
        "the room is small"
    );
    assert_eq!(join(&mut world, "lobby", "cyd", Some("asia")).1, Some(OTHER));
    assert_eq!(join(&mut world, "lobby", "dan", Some("eu")).1, Some(NODE));
    assert_eq!(join(&mut world, "attic", "eve", Some("eu")).1, Some(NODE));
}

#[test]
fn a_pinned_room_is_only_where_it_may_be() {
    let pinned = |rooms: &str, region: &str| PinnedRooms {
        rooms: RoomNames::new(vec![rooms.to_owned()]),
        regions: vec![region.to_owned()],
    };
    let mut world = two_nodes(Config {
        pinned: vec![pinned("eu-*", "eu"), pinned("eu-us", "us"), pinned("moon", "moon")],
        ..Config::new(keys())
    });
    assert_eq!(join(&mut world, "eu-1", "ada", Some("us")).1, Some(NODE));
    assert_eq!(
        join(&mut world, "eu-us", "ada", Some("us")).1,
        Some(NODE),
        "the first counts"
    );
    let (connection, node) = join(&mut world, "moon", "ada", Some("us"));
    assert_eq!(node, None);
    assert!(world.out.contains(&Output::Count(Counter::NoMediaNode)));
    assert!(world.told(connection).contains(&Notification::Ended {
        reason: EndReason::JoinFailure,
        action: EndAction::Disconnect,
    }));
    let mut moon = claims("ada");
    moon.video.room = "moon".to_owned();
    let refused = world.controller.check_claims(world.now, &moon);
    assert_eq!(refused, Err(JoinError::NoMediaNode(NoNode::Pinned)));
    world.controller.placement().set_pinned(Vec::new());
    assert_eq!(world.controller.check_claims(world.now, &moon), Ok(()));
}

#[test]
fn newcomers_count_before_the_node_counts_them() {
    let mut world = two_nodes(Config::new(keys()));
    for node in [NODE, OTHER] {
        let standing = NodeStanding {
            load: 50,
            capacity: 60,
            ..NodeStanding::default()
        };
        world.controller.placement().set_standing(world.now, node, standing);
    }
    let mut on = [0, 0];
    for number in 0..20 {
        let (_, node) = join(&mut world, &format!("room-{number}"), "ada", None);
        on[node.expect("there is room").0 as usize - 1] += 1;
    }
    assert_eq!(on, [10, 10]);
    assert_eq!(join(&mut world, "one-more", "ada", None).1, None);
    assert_eq!(
        world.controller.check_claims(world.now, &claims("ada")),
        Err(JoinError::NoMediaNode(NoNode::Full))
    );
}

#[test]
fn small_rooms_leave_a_draining_node_one_after_the_other() {
    let mut world = two_nodes(Config::new(keys()));
    let mut rooms = Vec::new();
    for number in 0..10 {
        let room = format!("room-{number}");
        rooms.push(["ada", "bob"].map(|identity| join(&mut world, &room, identity, Some("eu")).0));
    }
    stand(&mut world, NODE, "eu", Some(WITHIN));
    stand(&mut world, NODE, "eu", Some(WITHIN));
    let mut moved = Vec::new();
    for second in 0..60 {
        world.advance(Duration::from_secs(1));
        for room in &rooms {
            let told = told_to_move(&world, room);
            assert!(told == 0 || told == 2, "both leave together");
            moved.extend((told > 0).then_some(second));
        }
    }
    assert_eq!(moved.len(), 10);
    assert!(
        moved.windows(2).all(|pair| (5..=7).contains(&(pair[1] - pair[0]))),
        "{moved:?}"
    );
    assert_eq!(world.controller.population().participants, 0);
    assert_eq!(join(&mut world, "room-0", "ada", Some("eu")).1, Some(OTHER));
    world.advance(Duration::from_secs(10));
    assert_eq!(
        world.controller.population().participants,
        1,
        "the other one does not drain"
    );
}

#[test]
fn a_large_room_leaves_a_draining_node_evenly() {
    let mut world = two_nodes(Config::new(keys()));
    let everybody: Vec<_> = (0..100)
        .map(|number| join(&mut world, "lobby", &format!("p-{number}"), Some("eu")).0)
        .collect();
    stand(&mut world, NODE, "eu", Some(WITHIN));
    let mut each_second = Vec::new();
    for _ in 0..60 {
        world.advance(Duration::from_secs(1));
        let moved: Vec<_> = (0..100)
            .filter(|number| told_to_move(&world, &everybody[*number..=*number]) > 0)
            .collect();
        each_second.push(moved.len());
        for number in moved {
            let (_, node) = join(&mut world, "lobby", &format!("p-{number}"), Some("eu"));
            assert_eq!(node, Some(OTHER));
        }
    }
    assert_eq!(each_second.iter().sum::<usize>(), 100);
    assert!(each_second.iter().all(|moved| *moved <= 3), "{each_second:?}");
}

#[test]
fn rooms_that_are_on_other_nodes_as_well_leave_first() {
    let mut world = two_nodes(Config::new(keys()));
    let whole = join(&mut world, "whole", "ada", Some("eu")).0;
    let near = join(&mut world, "split", "ada", Some("eu")).0;
    let far = join(&mut world, "split", "bob", Some("us")).0;
    stand(&mut world, NODE, "eu", Some(WITHIN));
    world.advance(Duration::from_millis(50));
    assert_eq!(
        [whole, near, far].map(|connection| told_to_move(&world, &[connection])),
        [0, 1, 0]
    );
    world.advance(WITHIN);
    assert_eq!(
        [whole, near, far].map(|connection| told_to_move(&world, &[connection])),
        [1, 0, 0]
    );
}

#[test]
fn nobody_leaves_a_draining_node_without_another_one() {
    let mut world = two_nodes(Config::new(keys()));
    let everybody: Vec<_> = (0..20)
        .map(|number| join(&mut world, "lobby", &format!("p-{number}"), Some("eu")).0)
        .collect();
    stand(&mut world, OTHER, "us", Some(WITHIN));
    stand(&mut world, NODE, "eu", Some(WITHIN));
    world.advance(2 * WITHIN);
    assert_eq!(told_to_move(&world, &everybody), 0);
    assert_eq!(
        world.controller.check_claims(world.now, &claims("late")),
        Err(JoinError::NoMediaNode(NoNode::Draining))
    );
    // Another one comes, and they are spread over the time that was left.
    let third = NodeId(3);
    world.notice(third, Notice::Node(node(third)));
    world.advance(Duration::from_secs(5));
    let first = told_to_move(&world, &everybody);
    assert!((1..=3).contains(&first), "{first}");
    world.advance(WITHIN);
    assert_eq!(first + told_to_move(&world, &everybody), 20);
}

#[test]
fn a_node_that_is_to_be_empty_at_once_is() {
    let mut world = two_nodes(Config::new(keys()));
    let everybody: Vec<_> = (0..30)
        .map(|number| join(&mut world, "lobby", &format!("p-{number}"), Some("eu")).0)
        .collect();
    stand(&mut world, NODE, "eu", Some(Duration::ZERO));
    world.advance(Duration::from_millis(1));
    assert_eq!(told_to_move(&world, &everybody), 30);
}

#[test]
fn a_controller_that_drains_keeps_its_participants() {
    let mut world = two_nodes(Config::new(keys()));
    let ada = join(&mut world, "lobby", "ada", Some("eu")).0;
    world.controller.drain();
    stand(&mut world, NODE, "eu", Some(WITHIN));
    world.advance(2 * WITHIN);
    assert_eq!(told_to_move(&world, &[ada]), 0, "it would be refused");
}
