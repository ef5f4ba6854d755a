//! Several trunks between the same two addresses.

use std::time::Duration;

use dataplane::Counter;
use southbound::{Notice, TrackId};

use crate::orders::{FIRST, TRACKS, Trunk, publish_camera, watch};
use crate::world::{VIEWERS, World, trunk_path};

const SECOND: Duration = Duration::from_secs(1);
const OTHER: Trunk = Trunk(1);
/// The track that comes over the other trunk, at the far node.
const OTHER_TRACK: TrackId = TrackId(201);

/// Two rooms: the last viewer watches over another trunk than the rest.
fn two_rooms() -> World {
    let mut world = World::new();
    world.command(0, publish_camera(TRACKS[0], 0));
    world.join(FIRST, TRACKS[1]);
    world.join(OTHER, OTHER_TRACK);
    for person in 1..=VIEWERS {
        let track = if person == VIEWERS { OTHER_TRACK } else { TRACKS[1] };
        world.command(1, watch(person, track));
    }
    world.run(5 * SECOND);
    world
}

#[test]
fn trunks_of_two_rooms_carry_each_its_own_between_two_addresses() {
    let mut world = two_rooms();
    let from = world.now;
    world.cables.iter_mut().for_each(|cable| cable.loss = 0.02);
    world.run(20 * SECOND);
    world.cables.iter_mut().for_each(|cable| cable.loss = 0.0);
    world.run(2 * SECOND);
    for viewer in &world.viewers {
        let freeze = viewer.longest_freeze(from, world.now);
        assert!(freeze < Duration::from_millis(500), "{freeze:?}");
        let pictures: usize = viewer.pictures_of(from, world.now).iter().sum();
        assert!(pictures >= 22 * 30 * 99 / 100, "{pictures}");
    }
    for (node, trunk) in [(0, FIRST), (0, OTHER), (1, FIRST), (1, OTHER)] {
        let transport = trunk.transport(node);
        let about = |notice: &&Notice| {
            matches!(notice, Notice::Connected { transport: id, .. } | Notice::Disconnected { transport: id }
                | Notice::Closed { transport: id, .. } | Notice::Refused { transport: id, .. } if *id == transport)
        };
        let about: Vec<_> = world.nodes[node].notices.iter().filter(about).collect();
        assert!(matches!(about[..], [Notice::Connected { .. }]), "{about:?}");
        let unauthenticated = world.nodes[node].count(Counter::Unauthenticated);
        assert_eq!(unauthenticated, 0);
    }
}

#[test]
fn the_end_of_one_trunk_is_nothing_to_the_other_of_its_addresses() {
    let mut world = two_rooms();
    let from = world.now;
    world.part(FIRST);
    world.run(10 * SECOND);
    let [.., last] = &world.viewers[..] else {
        panic!("somebody watches")
    };
    assert!(last.longest_freeze(from, world.now) < Duration::from_millis(60));
    let others = &world.viewers[..VIEWERS - 1];
    assert!(
        others
            .iter()
            .all(|viewer| viewer.longest_freeze(from, world.now) > 9 * SECOND)
    );
}

#[test]
fn packets_with_an_ssrc_of_no_trunk_are_counted_and_dropped() {
    let mut world = two_rooms();
    let before = world.nodes[1].count(Counter::UnknownSource);
    let path = trunk_path(1);
    for ssrc in [1, FIRST.rtcp_ssrc(1).0, OTHER.rtcp_ssrc(1).0] {
        let mut bytes = vec![0x80, 96, 0, 1, 0, 0, 0, 0];
        bytes.extend(ssrc.to_be_bytes());
        bytes.resize(100, 0);
        world.deliver(1, path, &bytes);
        bytes[..8].copy_from_slice(&[0x80, 201, 0, 24, 0, 0, 0, 0]);
        bytes[4..8].copy_from_slice(&ssrc.to_be_bytes());
        world.deliver(1, path, &bytes);
    }
    assert_eq!(world.nodes[1].count(Counter::UnknownSource) - before, 6);
    // A known one proves nothing.
    let refused = [Counter::Unauthenticated, Counter::Duplicate, Counter::TooLate];
    let count = |world: &mut World| -> u64 { refused.iter().map(|why| world.nodes[1].count(*why)).sum() };
    let before = count(&mut world);
    for ssrc in [OTHER.rtcp_ssrc(0).0, OTHER.ssrc(2)] {
        let mut bytes = vec![0x80, 201, 0, 24];
        bytes.extend(ssrc.to_be_bytes());
        bytes.resize(100, 0x7f);
        world.deliver(1, path, &bytes);
    }
    assert_eq!(count(&mut world) - before, 2);
}
