//! Media nodes of the clients' regions.

use controller::{NodeStanding, PinnedRooms};

use super::*;

const OTHER: NodeId = NodeId(2);

/// A world with a second node; each is in a region of its own.
fn two_nodes() -> World {
    let mut world = World::new();
    announce(&mut world.controller, world.now, OTHER);
    for (node, region) in [(NODE, "eu"), (OTHER, "us")] {
        let standing = NodeStanding {
            region: region.to_owned(),
            ..NodeStanding::default()
        };
        world.controller.placement().set_standing(world.now, node, standing);
    }
    world
}

fn opened_on(world: &World) -> Option<NodeId> {
    world.out.iter().find_map(|output| match output {
        controller::Output::Command {
            node,
            command: Command::Open(_),
            ..
        } => Some(*node),
        _ => None,
    })
}

#[test]
fn a_publisher_comes_to_a_node_of_its_region() {
    for (region, node) in [("eu", NODE), ("us", OTHER)] {
        let mut world = two_nodes();
        world.region = Some(region.to_owned());
        assert_eq!(world.publish("camera").status, 201);
        assert_eq!(opened_on(&world), Some(node));
    }
}

#[test]
fn a_room_without_a_node_where_it_may_be_is_unavailable() {
    let mut world = two_nodes();
    world.controller.placement().set_pinned(vec![PinnedRooms {
        rooms: access::RoomNames::new(vec!["lobby".to_owned()]),
        regions: vec!["moon".to_owned()],
    }]);
    let answer = world.publish("camera");
    assert_eq!(answer.status, 503);
    assert!(
        answer.body.contains("in a region that the room may be in"),
        "{}",
        answer.body
    );
}
