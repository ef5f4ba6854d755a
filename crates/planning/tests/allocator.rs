//! Scenarios: migrations, refusals, and a full Tofino2.

mod support;

use planning::{
    Allocator, Design, Device, Meeting, MeetingId, Node, Place, Quality, Rates, Refusal, ReplicationEngine, Resource,
    Route, Source, TreeId, capacity,
};
use support::Engine;

const ROOM: MeetingId = MeetingId(1);

fn join(allocator: &mut Allocator, engine: &mut Engine, room: MeetingId) -> Place {
    allocator
        .join(room, Some(Rates::SCALLOP), Quality::High, engine)
        .expect("room for one more")
}

fn start() -> (Allocator, Engine) {
    let device = Device::tofino2();
    (Allocator::new(device.clone()), Engine::new(&device))
}

#[test]
fn a_meeting_moves_through_all_designs_and_back() {
    let (mut allocator, mut engine) = start();
    let [a, b] = [(); 2].map(|()| join(&mut allocator, &mut engine, ROOM));
    assert_eq!(allocator.design(ROOM), Some(Design::TwoParty));
    assert_eq!(engine.trees.len(), 0);
    let c = join(&mut allocator, &mut engine, ROOM);
    assert_eq!(allocator.design(ROOM), Some(Design::Nra));
    assert_eq!((engine.trees.len(), engine.nodes.len()), (1, 3));
    assert_eq!(allocator.set_quality(ROOM, c, Quality::Low, &mut engine), Ok(true));
    assert_eq!(allocator.design(ROOM), Some(Design::RaR));
    assert_eq!((engine.trees.len(), engine.nodes.len()), (2, 7));
    assert_eq!(
        allocator.set_quality_from(ROOM, (a, c), Quality::High, &mut engine),
        Ok(true)
    );
    assert_eq!(allocator.design(ROOM), Some(Design::RaSr));
    assert_eq!((engine.trees.len(), engine.nodes.len()), (5, 16));
    assert_eq!(allocator.set_quality(ROOM, c, Quality::Medium, &mut engine), Ok(true));
    assert_eq!(allocator.design(ROOM), Some(Design::RaR));
    assert_eq!(allocator.set_quality(ROOM, c, Quality::High, &mut engine), Ok(true));
    assert_eq!(allocator.design(ROOM), Some(Design::Nra));
    assert_eq!((engine.trees.len(), engine.nodes.len()), (1, 3));
    assert!(allocator.leave(ROOM, a, &mut engine));
    assert_eq!(allocator.design(ROOM), Some(Design::TwoParty));
    assert_eq!(
        allocator.route(Source {
            meeting: ROOM,
            sender: b,
            layer: 0
        }),
        Some(Route::Unicast(c))
    );
    assert!(allocator.leave(ROOM, b, &mut engine) && allocator.leave(ROOM, c, &mut engine));
    assert!(allocator.is_empty() && engine.is_empty());
    assert!(!allocator.leave(ROOM, c, &mut engine));
}

/// A meeting of three in RA-SR with 16 nodes, on a device of 18.
fn crowded() -> (Allocator, Engine, [Place; 3]) {
    let device = Device {
        nodes: 18,
        ..Device::tofino2()
    };
    let (mut allocator, mut engine) = (Allocator::new(device.clone()), Engine::new(&device));
    let [a, b, c] = [(); 3].map(|()| join(&mut allocator, &mut engine, ROOM));
    assert_eq!(
        allocator.set_quality_from(ROOM, (b, c), Quality::Low, &mut engine),
        Ok(true)
    );
    assert_eq!((allocator.design(ROOM), engine.nodes.len()), (Some(Design::RaSr), 16));
    (allocator, engine, [a, b, c])
}

fn copies(engine: &Engine, sender: Place, layer: u8) -> Vec<Place> {
    let source = Source {
        meeting: ROOM,
        sender,
        layer,
    };
    engine.copies(source).into_iter().map(|(_, place)| place).collect()
}

#[test]
fn without_nodes_for_both_states_a_meeting_keeps_its_design() {
    let (mut allocator, mut engine, [a, b, c]) = crowded();
    assert_eq!(allocator.set_quality(ROOM, c, Quality::Medium, &mut engine), Ok(true));
    assert_eq!((allocator.design(ROOM), engine.nodes.len()), (Some(Design::RaSr), 16));
    assert_eq!(copies(&engine, a, 1), [b, c]);
    assert_eq!(copies(&engine, a, 2), [b]);
}

#[test]
fn a_later_change_finds_the_nodes_for_the_cheaper_design() {
    let (mut allocator, mut engine, [a, b, c]) = crowded();
    assert_eq!(allocator.set_quality(ROOM, c, Quality::Low, &mut engine), Ok(true));
    assert_eq!(allocator.set_quality(ROOM, b, Quality::Low, &mut engine), Ok(true));
    assert_eq!(allocator.set_quality(ROOM, a, Quality::Low, &mut engine), Ok(true));
    assert_eq!((allocator.design(ROOM), engine.nodes.len()), (Some(Design::Nra), 3));
    assert_eq!(copies(&engine, a, 0), [b, c]);
}

#[test]
fn a_change_without_nodes_is_refused_and_changes_nothing() {
    let device = Device {
        nodes: 18,
        ..Device::tofino2()
    };
    let (mut allocator, mut engine) = (Allocator::new(device.clone()), Engine::new(&device));
    let [a, _, c] = [(); 3].map(|()| join(&mut allocator, &mut engine, ROOM));
    assert_eq!(allocator.set_quality(ROOM, c, Quality::Low, &mut engine), Ok(true));
    assert_eq!((allocator.design(ROOM), engine.nodes.len()), (Some(Design::RaR), 7));
    let before = allocator.meeting(ROOM).cloned();
    // RA-SR takes 16 nodes, and 19 while RA-R is still there.
    let refused = allocator.set_quality_from(ROOM, (a, c), Quality::High, &mut engine);
    let nodes = Refusal {
        resource: Resource::Nodes,
    };
    assert_eq!(refused, Err(nodes));
    assert_eq!((allocator.design(ROOM), engine.nodes.len()), (Some(Design::RaR), 7));
    assert_eq!(allocator.meeting(ROOM).cloned(), before);
}

#[test]
fn two_meetings_share_a_tree_and_are_told_apart() {
    let (mut allocator, mut engine) = start();
    for room in [1, 2] {
        for _ in 0..3 {
            join(&mut allocator, &mut engine, MeetingId(room));
        }
    }
    assert_eq!((engine.trees.len(), engine.nodes.len()), (1, 6));
    for room in [1, 2].map(MeetingId) {
        let copies = engine.copies(Source {
            meeting: room,
            sender: Place(1),
            layer: 2,
        });
        assert_eq!(copies, [(room, Place(0)), (room, Place(2))]);
    }
}

#[test]
fn a_refused_change_names_its_resource_and_changes_nothing() {
    let device = Device {
        trees: 1,
        ..Device::tofino2()
    };
    let (mut allocator, mut engine) = (Allocator::new(device.clone()), Engine::new(&device));
    for _ in 0..3 {
        join(&mut allocator, &mut engine, ROOM);
    }
    let refused = allocator.set_quality(ROOM, Place(2), Quality::Low, &mut engine);
    assert_eq!(
        refused,
        Err(Refusal {
            resource: Resource::Trees
        })
    );
    assert_eq!(allocator.design(ROOM), Some(Design::Nra));
    assert_eq!(allocator.meeting(ROOM), Some(&Meeting::uniform(3, 3, Quality::High)));
    let narrow = Device {
        bandwidth: 11_000_000,
        ..Device::tofino2()
    };
    let (mut allocator, mut engine) = (Allocator::new(narrow.clone()), Engine::new(&narrow));
    join(&mut allocator, &mut engine, ROOM);
    let refused = allocator.join(ROOM, Some(Rates::SCALLOP), Quality::High, &mut engine);
    assert_eq!(
        refused,
        Err(Refusal {
            resource: Resource::Bandwidth
        })
    );
}

/// Counts trees and nodes.
#[derive(Default)]
struct Counts {
    trees: u64,
    nodes: u64,
}

impl ReplicationEngine for Counts {
    fn create_tree(&mut self, _: TreeId) {
        self.trees += 1;
    }
    fn remove_tree(&mut self, _: TreeId) {
        self.trees -= 1;
    }
    fn create_node(&mut self, _: &Node) {
        self.nodes += 1;
    }
    fn remove_node(&mut self, _: &Node) {
        self.nodes -= 1;
    }
    fn set_route(&mut self, _: Source, _: Option<Route>) {}
}

#[test]
fn a_full_tofino2_has_every_meeting_of_the_model() {
    let mut driven_by_receivers = Meeting::uniform(3, 1, Quality::High);
    assert!(driven_by_receivers.set_quality(Place(2), Quality::Low));
    let mut driven_by_pairs = Meeting::uniform(10, 10, Quality::High);
    assert!(driven_by_pairs.set_quality_from(Place(0), Place(9), Quality::Low));
    let shapes = [
        (Meeting::uniform(3, 1, Quality::High), 128_000),
        (driven_by_receivers, 42_666),
        (driven_by_pairs, 4_266),
    ];
    for (meeting, expected) in shapes {
        let (mut allocator, mut counts) = (Allocator::new(Device::tofino2()), Counts::default());
        let mut ids = (0..).map(MeetingId);
        let refused = ids.find_map(|id| allocator.set(id, meeting.clone(), &mut counts).err());
        assert_eq!(
            refused,
            Some(Refusal {
                resource: Resource::Trees
            })
        );
        assert_eq!(allocator.len() as u64, expected);
        assert_eq!(capacity(&Device::tofino2(), &meeting).meetings, expected);
        assert!(counts.trees <= 64_000);
        for id in 0..expected {
            assert_eq!(
                allocator.set(MeetingId(id), Meeting::default(), &mut counts),
                Ok(Design::TwoParty)
            );
        }
        assert_eq!((counts.trees, counts.nodes, allocator.len()), (0, 0, 0));
    }
}
