//! Datagrams that are not the peer's, at the end of a trunk.

use std::time::Duration;

use agent::Counter as AgentCounter;
use dataplane::{Counter, Path};

use crate::world::{World, trunk_path};

const SECOND: Duration = Duration::from_secs(1);

/// Counts of the far node that differ between two instants.
fn counts(world: &mut World) -> [u64; 4] {
    [
        Counter::UnknownSource,
        Counter::Unauthenticated,
        Counter::Duplicate,
        Counter::PuntedStun,
    ]
    .map(|counter| world.nodes[1].count(counter))
}

/// The last media packet that crossed the trunk.
fn last_media(world: &World) -> Vec<u8> {
    let mut seen = world.cables[0].seen.iter().rev();
    let is_media = |bytes: &&Vec<u8>| wire::classify(bytes) == wire::PacketKind::Rtp;
    seen.find(is_media).expect("media crosses").clone()
}

#[test]
fn forged_replayed_and_foreign_packets_are_counted_and_change_nothing() {
    let mut world = World::watching();
    world.run(5 * SECOND);
    let from = world.now;
    for round in 0..50_u8 {
        world.run(Duration::from_millis(100));
        let [foreign, unauthenticated, duplicate, stun] = counts(&mut world);
        let real = last_media(&world);
        let peer = trunk_path(1);
        let other_port = Path {
            remote: (peer.remote.ip(), peer.remote.port() + 1).into(),
            ..peer
        };
        world.deliver(1, other_port, &real);
        // The number of the next packet, and one far ahead: neither may take its place nor move the
        // window.
        for distance in [1, 0x4000] {
            let mut forged = real.clone();
            let sequence = u16::from_be_bytes([real[2], real[3]]).wrapping_add(distance);
            forged[2..4].copy_from_slice(&sequence.to_be_bytes());
            world.deliver(1, peer, &forged);
        }
        let mut check = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
        check.extend([round; 12]);
        world.deliver(1, peer, &check);
        let after = counts(&mut world);
        assert_eq!(after, [foreign + 1, unauthenticated + 2, duplicate, stun + 1]);
        // Once the real one has arrived, it is a replay.
        world.run(Duration::from_millis(50));
        let [_, unauthenticated, duplicate, _] = counts(&mut world);
        world.deliver(1, peer, &real);
        let [_, unauthenticated_after, duplicate_after, _] = counts(&mut world);
        assert_eq!(
            (unauthenticated_after, duplicate_after),
            (unauthenticated, duplicate + 1)
        );
    }
    assert_eq!(world.nodes[1].agent.counters()[AgentCounter::StunUnexpected], 50);
    for viewer in &world.viewers {
        assert!(viewer.longest_freeze(from, world.now) < Duration::from_millis(60));
    }
}
