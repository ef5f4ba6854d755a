//! A trunk that carries less than is asked for, or nothing.

use std::time::Duration;

use southbound::{CloseReason, Command, Notice};

use crate::orders::{open_trunk, trunk};
use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_squeezed_trunk_carries_smaller_encodings_and_nobody_freezes() {
    let mut world = World::watching();
    world.run(10 * SECOND);
    let squeezed = world.now;
    // Half of the 2,150 kbit/s that are asked for.
    world.cables[0].rate = 1_075_000;
    world.run(20 * SECOND);
    let (later, end) = (squeezed + 5 * SECOND, world.now);
    for viewer in &world.viewers {
        let freeze = viewer.longest_freeze(squeezed, end);
        assert!(freeze < Duration::from_millis(500), "{freeze:?}");
        // The middle encoding, with nearly all of its 450 frames.
        let [low, middle, high] = viewer.pictures_of(later, end);
        assert_eq!((low, high), (0, 0), "{middle}");
        assert!(middle >= 400, "{middle}");
    }
    world.cables[0].rate = 100_000_000;
    world.run(40 * SECOND);
    for viewer in &world.viewers {
        let [_, _, high] = viewer.pictures_of(world.now - 5 * SECOND, world.now);
        assert!(high >= 140, "the largest size comes back: {high}");
    }
}

#[test]
fn a_trunk_whose_peer_is_silent_is_told_of_and_closed() {
    let mut world = World::watching();
    world.run(3 * SECOND);
    let connected = Notice::Connected {
        transport: trunk(0),
        srtp: Some(wire::srtp::SrtpProfile::AeadAes256Gcm),
    };
    assert!(world.nodes[0].notices.contains(&connected));
    world.nodes[0].notices.clear();
    world.cables[1].loss = 1.0;
    world.run(12 * SECOND);
    let disconnected = Notice::Disconnected { transport: trunk(0) };
    assert!(world.nodes[0].notices.contains(&disconnected));
    world.cables[1].loss = 0.0;
    world.run(2 * SECOND);
    assert!(world.nodes[0].notices.contains(&connected), "it is there again");
    world.cables[1].loss = 1.0;
    world.run(45 * SECOND);
    let closed = Notice::Closed {
        transport: trunk(0),
        reason: CloseReason::ConsentExpired,
    };
    assert!(world.nodes[0].notices.contains(&closed));
    // The same key never seals again.
    world.nodes[0].notices.clear();
    world.command(0, Command::OpenDirect(Box::new(open_trunk(0))));
    assert!(matches!(&world.nodes[0].notices[..], [Notice::Refused { .. }]));
}

#[test]
fn an_idle_trunk_stays_connected() {
    let mut world = World::new();
    for node in 0..2 {
        world.command(node, Command::OpenDirect(Box::new(open_trunk(node))));
    }
    world.run(60 * SECOND);
    for node in 0..2 {
        let about = |notice: &&Notice| {
            let transport = trunk(node);
            matches!(notice, Notice::Connected { transport: id, .. } | Notice::Disconnected { transport: id }
                | Notice::Closed { transport: id, .. } if *id == transport)
        };
        let notices: Vec<_> = world.nodes[node].notices.iter().filter(about).collect();
        assert!(matches!(notices[..], [Notice::Connected { .. }]), "{notices:?}");
    }
}
