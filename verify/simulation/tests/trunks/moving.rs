//! A track that comes another way from some time on, while people watch it.

use std::time::{Duration, Instant};

use southbound::Notice;

use crate::orders::{FIRST, TRACKS, Trunk, publish_camera, trunk};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);
const SECOND_TRUNK: Trunk = Trunk(1);

/// Everybody has had pictures without a longer pause, and has the largest ones in the end. Viewers
/// know one SSRC, and check that no number is used twice.
fn assert_watched(world: &World, from: Instant, freeze_max: Duration) {
    for viewer in &world.viewers {
        let freeze = viewer.longest_freeze(from, world.now);
        assert!(freeze <= freeze_max, "{freeze:?}");
        let [low, middle, high] = viewer.pictures_of(world.now - SECOND, world.now);
        assert!(high >= 28, "{low} {middle} {high}");
    }
}

/// How many key frames the camera was asked for since then.
fn requests(world: &World, from: Instant) -> usize {
    world.camera.requests.iter().filter(|(at, _)| *at >= from).count()
}

/// Replaces the first trunk by another, which has carried media for some time already.
fn replaced(carried: Duration, freeze_max: Duration) {
    let mut world = World::watching();
    world.run(5 * SECOND);
    // The third trunk has other keys and SSRCs again.
    for [old, new] in [[FIRST, SECOND_TRUNK], [SECOND_TRUNK, Trunk(2)]] {
        world.carry(new);
        world.run(carried);
        let from = world.now;
        world.command(1, new.publish(TRACKS[1]));
        world.part(old);
        world.run(15 * SECOND);
        assert_watched(&world, from, freeze_max);
        let requests = requests(&world, from);
        assert!((1..=4).contains(&requests), "{requests}");
    }
}

#[test]
fn viewers_go_on_when_a_trunk_is_replaced_by_another_one() {
    replaced(Duration::ZERO, Duration::from_millis(700));
}

#[test]
fn a_trunk_that_carries_media_already_takes_over_sooner() {
    replaced(Duration::from_millis(600), Duration::from_millis(300));
}

#[test]
fn a_trunk_that_is_silent_is_replaced_before_it_is_closed() {
    let mut world = World::watching();
    world.run(5 * SECOND);
    world.cables.iter_mut().for_each(|cable| cable.loss = 1.0);
    world.run(12 * SECOND);
    let disconnected = Notice::Disconnected { transport: trunk(1) };
    assert!(world.nodes[1].notices.contains(&disconnected));
    world.cables.iter_mut().for_each(|cable| cable.loss = 0.0);
    let from = world.now;
    world.join(SECOND_TRUNK, TRACKS[1]);
    world.part(FIRST);
    world.run(10 * SECOND);
    assert_watched(&world, from, SECOND);
    let ended = |notice: &&Notice| matches!(notice, Notice::Refused { .. } | Notice::Closed { .. });
    assert_eq!(world.nodes[1].notices.iter().find(ended), None);
}

#[test]
fn a_track_moves_from_a_trunk_to_a_publisher_at_the_node_and_back() {
    let mut world = World::watching();
    let person = world.add_person();
    world.run(5 * SECOND);
    let from = world.now;
    world.filmed_by = person;
    world.command(1, publish_camera(TRACKS[1], person));
    world.part(FIRST);
    world.run(10 * SECOND);
    assert_watched(&world, from, Duration::from_millis(300));
    let from = world.now;
    world.filmed_by = 0;
    world.join(SECOND_TRUNK, TRACKS[1]);
    world.run(10 * SECOND);
    assert_watched(&world, from, Duration::from_millis(300));
    let wanted = [TRACKS[1]];
    let started = |notice: &&Notice| matches!(notice, Notice::TrackStarted { track } if wanted.contains(track));
    assert_eq!(
        world.nodes[1].notices.iter().filter(started).count(),
        1,
        "it is one track"
    );
}

#[test]
fn a_track_that_may_not_move_stays_where_it_is() {
    let mut world = World::watching();
    world.run(5 * SECOND);
    let from = world.now;
    // The trunk is not open.
    world.command(1, SECOND_TRUNK.publish(TRACKS[1]));
    world.run(5 * SECOND);
    assert_watched(&world, from, Duration::from_millis(60));
}
