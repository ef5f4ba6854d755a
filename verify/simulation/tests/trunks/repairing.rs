//! Media over a trunk: each stream crosses once, and each loss is repaired once.

use std::time::Duration;

use agent::Counter;
use southbound::Command;

use crate::cable::DELAY;
use crate::orders::{TRUNK_SSRCS, transport, trunk};
use crate::viewer::Viewer;
use crate::world::{VIEWERS, World};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn each_encoding_crosses_once_however_many_watch() {
    let mut world = World::watching();
    world.run(5 * SECOND);
    let from = world.now;
    let before = TRUNK_SSRCS.map(|ssrc| world.cables[0].count(&[ssrc]).0);
    world.run(2 * SECOND);
    for viewer in &world.viewers {
        assert!(viewer.longest_freeze(from, world.now) < Duration::from_millis(60));
        let [low, middle, high] = viewer.pictures_of(from, world.now);
        assert_eq!((low, middle), (0, 0));
        assert!(high >= 58, "{high}");
    }
    let crossed: Vec<usize> = TRUNK_SSRCS
        .iter()
        .map(|ssrc| world.cables[0].count(&[*ssrc]).0)
        .collect();
    let crossed: Vec<usize> = crossed
        .iter()
        .zip(before)
        .map(|(after, before)| after - before)
        .collect();
    // A frame has 1, 2 or 3, and 5 to 8 packets.
    assert!((58..=62).contains(&crossed[0]), "{crossed:?}");
    assert!((100..=140).contains(&crossed[1]), "{crossed:?}");
    assert!((300..=420).contains(&crossed[2]), "{crossed:?}");
}

#[test]
fn a_loss_on_the_trunk_is_asked_for_once_and_repaired_for_all() {
    let mut world = World::watching();
    world.run(5 * SECOND);
    let (from, before) = (world.now, world.nodes[1].agent.counters()[Counter::NackSent]);
    let lost = |world: &World| world.cables[0].count(&TRUNK_SSRCS).1;
    let lost_before = lost(&world);
    world.cables.iter_mut().for_each(|cable| cable.loss = 0.02);
    world.run(60 * SECOND);
    world.cables.iter_mut().for_each(|cable| cable.loss = 0.0);
    world.run(2 * SECOND);
    let asked = world.nodes[1].agent.counters()[Counter::NackSent] - before;
    let lost = lost(&world) - lost_before;
    assert!(lost > 200, "{lost} packets were lost");
    assert!(asked as f64 <= 1.2 * lost as f64, "{asked} were asked for, of {lost}");
    for viewer in &world.viewers {
        let freeze = viewer.longest_freeze(from, world.now);
        let pictures: usize = viewer.pictures_of(from, world.now).iter().sum();
        assert!(freeze < Duration::from_millis(500), "{freeze:?}");
        assert!(pictures >= 62 * 30 * 99 / 100, "{pictures}");
    }
}

#[test]
fn a_key_frame_that_two_ask_for_is_asked_for_once() {
    let mut world = World::watching();
    world.run(5 * SECOND);
    let before = world.camera.requests.len();
    let asked = world.nodes[1].agent.counters()[Counter::KeyFrameRequested];
    (0..VIEWERS).for_each(|viewer| world.say(viewer, Viewer::asks_key_frame()));
    world.run(Duration::from_millis(10) + 2 * DELAY);
    (0..VIEWERS).for_each(|viewer| world.say(viewer, Viewer::asks_key_frame()));
    world.run(SECOND);
    let asked = world.nodes[1].agent.counters()[Counter::KeyFrameRequested] - asked;
    let requests: Vec<_> = world.camera.requests[before..]
        .iter()
        .map(|(_, encoding)| *encoding)
        .collect();
    assert_eq!((asked, &requests[..]), (1, &[2][..]));
}

#[test]
fn a_closed_trunk_leaves_nothing() {
    let mut world = World::watching();
    world.run(3 * SECOND);
    for node in 0..2 {
        world.command(node, Command::Close { transport: trunk(node) });
    }
    world.run(SECOND);
    // The camera's leg with its streams, and the legs of those who watched.
    assert_eq!(world.nodes[0].plane.len(), (1, 3, 0));
    assert_eq!(world.nodes[1].plane.len(), (VIEWERS, 0, 0));
    for person in 0..=VIEWERS {
        let transport = transport(person);
        world.command(usize::from(person > 0), Command::Close { transport });
    }
    for node in &mut world.nodes {
        assert!(node.plane.is_empty(), "{:?}", node.plane.len());
        assert!(node.agent.is_idle());
    }
}
