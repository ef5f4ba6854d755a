use std::time::Duration;

use super::*;

/// A node with this load of 100, in a region.
fn standing(region: &str, load: u32) -> NodeStanding {
    NodeStanding {
        load,
        capacity: 100,
        region: region.to_owned(),
        ..NodeStanding::default()
    }
}

fn draining(standing: NodeStanding) -> NodeStanding {
    NodeStanding {
        draining: Some(Duration::from_secs(60)),
        ..standing
    }
}

/// The needs of a participant of a room on these nodes, by their numbers.
struct Newcomer {
    pinned: Vec<String>,
    region: Option<&'static str>,
    on: BTreeSet<NodeId>,
    participants: usize,
    replaced_on: Option<NodeId>,
}

fn newcomer(region: Option<&'static str>, on: &[u64], participants: usize) -> Newcomer {
    Newcomer {
        pinned: Vec::new(),
        region,
        on: on.iter().copied().map(NodeId).collect(),
        participants,
        replaced_on: None,
    }
}

/// The nodes that are chosen with several seeds, by their places in the list.
fn chosen(nodes: &[NodeStanding], newcomer: &Newcomer) -> Result<BTreeSet<u64>, NoNode> {
    let candidates = nodes.iter().zip(0..).map(|(standing, id)| Candidate {
        node: NodeId(id),
        standing,
        load: standing.load,
        participants: 0,
    });
    let need = Need {
        pinned: &newcomer.pinned,
        region: newcomer.region,
        on: &newcomer.on,
        participants: newcomer.participants,
        replaced_on: newcomer.replaced_on,
    };
    let open = open(candidates, &need)?;
    let seeds = 0..50;
    let choices = seeds.map(|seed| choose(open.clone(), &need, &mut Random::new([seed; 32])));
    Ok(choices.map(|choice| choice.expect("one is open").0).collect())
}

fn only(node: u64) -> Result<BTreeSet<u64>, NoNode> {
    Ok([node].into())
}

fn any(nodes: &[u64]) -> Result<BTreeSet<u64>, NoNode> {
    Ok(nodes.iter().copied().collect())
}

#[test]
fn a_pinned_room_never_goes_elsewhere() {
    let mut ada = newcomer(Some("us"), &[0], 3);
    ada.pinned = vec!["eu".to_owned()];
    assert_eq!(chosen(&[standing("us", 0), standing("eu", 99)], &ada), only(1));
    let full = [standing("us", 0), standing("eu", 100)];
    assert_eq!(chosen(&full, &ada), Err(NoNode::Full));
    let drains = [standing("us", 0), draining(standing("eu", 0))];
    assert_eq!(chosen(&drains, &ada), Err(NoNode::Draining));
    assert_eq!(chosen(&[standing("us", 0), standing("", 0)], &ada), Err(NoNode::Pinned));
    ada.pinned.push("us".to_owned());
    assert_eq!(chosen(&full, &ada), only(0), "one of its regions is enough");
}

#[test]
fn a_refusal_says_what_is_wrong_with_the_nodes_that_are_left() {
    let ada = newcomer(None, &[0], 3);
    assert_eq!(chosen(&[], &ada), Err(NoNode::Empty));
    let foreign = NodeStanding {
        is_foreign: true,
        ..standing("eu", 0)
    };
    assert_eq!(chosen(std::slice::from_ref(&foreign), &ada), Err(NoNode::Foreign));
    let drains = draining(standing("eu", 100));
    assert_eq!(chosen(&[foreign.clone(), drains.clone()], &ada), Err(NoNode::Draining));
    let full = standing("eu", 100);
    assert_eq!(chosen(&[foreign, drains, full], &ada), Err(NoNode::Full));
}

#[test]
fn nobody_comes_to_a_node_that_drains_is_full_or_is_foreign() {
    let foreign = NodeStanding {
        is_foreign: true,
        ..standing("eu", 0)
    };
    let nodes = [
        foreign,
        draining(standing("eu", 0)),
        standing("eu", 100),
        standing("us", 90),
    ];
    for participants in [0, 3, 100] {
        for on in [&[][..], &[0, 1, 2]] {
            let ada = newcomer(Some("eu"), on, participants);
            assert_eq!(chosen(&nodes, &ada), only(3));
        }
    }
}

#[test]
fn a_full_node_takes_back_whom_it_has_already() {
    let nodes = [standing("eu", 100), standing("eu", 100)];
    let mut ada = newcomer(Some("eu"), &[0, 1], 2);
    assert_eq!(chosen(&nodes, &ada), Err(NoNode::Full));
    ada.replaced_on = Some(NodeId(1));
    assert_eq!(chosen(&nodes, &ada), only(1));
    let drains = [standing("eu", 100), draining(standing("eu", 0))];
    assert_eq!(chosen(&drains, &ada), Err(NoNode::Full));
}

#[test]
fn a_small_room_stays_on_its_nodes() {
    let nodes = [
        standing("eu", 90),
        standing("eu", 0),
        standing("us", 0),
        standing("", 0),
    ];
    let small = SMALL_ROOM_MAX;
    assert_eq!(chosen(&nodes, &newcomer(None, &[0], small)), only(0));
    assert_eq!(chosen(&nodes, &newcomer(Some("eu"), &[0], small)), only(0));
    assert_eq!(
        chosen(&nodes, &newcomer(Some("asia"), &[0], small)),
        only(0),
        "it has no node"
    );
    let second = newcomer(Some("us"), &[0, 2], small);
    assert_eq!(chosen(&nodes, &second), only(2), "the nearer of the two");
    assert_eq!(
        chosen(&nodes, &newcomer(Some("asia"), &[0, 2], small)),
        only(2),
        "the emptier"
    );
}

#[test]
fn a_small_room_comes_to_somebody_whose_region_it_is_not_in() {
    let nodes = [standing("eu", 0), standing("us", 10), standing("us", 99)];
    assert_eq!(
        chosen(&nodes, &newcomer(Some("us"), &[0], 2)),
        only(1),
        "the emptier of two"
    );
    let away = [standing("eu", 0), draining(standing("us", 0))];
    assert_eq!(
        chosen(&away, &newcomer(Some("us"), &[0], 2)),
        only(0),
        "no node there takes anybody"
    );
    let moved = [standing("eu", 0), standing("eu", 0), draining(standing("eu", 0))];
    assert_eq!(
        chosen(&moved, &newcomer(Some("eu"), &[2], 2)),
        any(&[0, 1]),
        "its own node drains"
    );
}

#[test]
fn a_large_room_prefers_its_nodes_while_they_are_not_too_full() {
    let large = SMALL_ROOM_MAX + 1;
    let nodes = |load| [standing("eu", load), standing("eu", 0), standing("us", 0)];
    assert_eq!(chosen(&nodes(79), &newcomer(Some("eu"), &[0], large)), only(0));
    assert_eq!(chosen(&nodes(80), &newcomer(Some("eu"), &[0], large)), only(1));
    assert_eq!(chosen(&nodes(79), &newcomer(Some("us"), &[0], large)), only(2));
    assert_eq!(chosen(&nodes(79), &newcomer(None, &[0], large)), only(0));
    assert_eq!(chosen(&nodes(80), &newcomer(None, &[0], large)), any(&[1, 2]));
}

#[test]
fn nodes_of_other_sizes_are_compared_by_the_share_that_is_used() {
    let larger = NodeStanding {
        load: 200,
        capacity: 1_000,
        ..NodeStanding::default()
    };
    assert_eq!(chosen(&[standing("", 30), larger], &newcomer(None, &[], 0)), only(1));
}

#[test]
fn ten_thousand_participants_are_spread_evenly() {
    let mut nodes: Vec<_> = (0..10).map(|_| standing("eu", 0)).collect();
    nodes.iter_mut().for_each(|it| it.capacity = 2_000);
    let random = &mut Random::new([5; 32]);
    let nowhere = BTreeSet::new();
    let need = Need {
        pinned: &[],
        region: Some("eu"),
        on: &nowhere,
        participants: 0,
        replaced_on: None,
    };
    for _ in 0..10_000 {
        let candidates = nodes.iter().zip(0..).map(|(standing, id)| Candidate {
            node: NodeId(id),
            standing,
            load: standing.load,
            participants: 0,
        });
        let open = open(candidates, &need).unwrap();
        let chosen = choose(open, &need, random).unwrap();
        nodes[chosen.0 as usize].load += 1;
    }
    let loads: Vec<_> = nodes.iter().map(|it| it.load).collect();
    assert!(loads.iter().all(|load| (980..1_020).contains(load)), "{loads:?}");
}
