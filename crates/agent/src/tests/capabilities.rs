//! Devices that cannot do everything: nothing is asked of them that they cannot do, and the
//! controller hears what that is.

use dataplane::{Capabilities, DataPlane, LegId, Protection};
use southbound::{CloseReason, DtlsRole, Notice, TransportId};

use super::world::*;
use crate::counters::Counter;

/// A world with clear RTP whose device has other capabilities than the model.
fn world_with(change: impl FnOnce(&mut Capabilities)) -> World {
    let mut world = World::with(|config| config.clear_rtp = true);
    let mut capabilities = world.model.capabilities();
    change(&mut capabilities);
    world.model = world.model.with_capabilities(capabilities);
    world
}

/// Refusals since the last call.
fn refusals(world: &mut World) -> Vec<(TransportId, String)> {
    let refusal = |notice| match notice {
        Notice::Refused { transport, why } => Some((transport, why)),
        _ => None,
    };
    world.take_notices().into_iter().filter_map(refusal).collect()
}

#[test]
fn a_device_without_srtp_never_gets_keys() {
    let mut world = world_with(|capabilities| capabilities.srtp = false);
    let clear = world.clear_peer();
    assert_eq!(world.protection(1), Protection::Clear);
    world.take_notices();
    for role in [DtlsRole::Server, DtlsRole::Client] {
        let secure = world.add_peer(role, Vec::new());
        world.check(secure, true);
        world.start_dtls(secure);
        world.advance(1_000);
        let transport = world.peers[secure].transport;
        let notices = world.take_notices();
        assert!(notices.contains(&Notice::Refused {
            transport,
            why: "the data plane has no SRTP".into(),
        }));
        assert!(notices.contains(&Notice::Closed {
            transport,
            reason: CloseReason::Handshake,
        }));
    }
    assert_eq!(world.count(Counter::SrtpRefused), 2);
    assert_eq!(world.model.leg(LegId(1)).unwrap().protection, Protection::Clear);
    assert_eq!(world.model.leg(LegId(2)), None);
    let track = world.publish_audio(clear);
    world.send(clear, audio(1, 20));
    assert!(
        world.take_notices().contains(&Notice::Started { track }),
        "clear media flows"
    );
}

#[test]
fn a_full_table_says_which_one_it_is() {
    let mut world = world_with(|capabilities| (capabilities.streams_max, capabilities.replicas_max) = (1, 1));
    let publisher = world.clear_peer();
    let receivers = [world.clear_peer(), world.clear_peer()];
    let second = world.peers[receivers[1]].transport;
    let from = world.peers[publisher].transport;
    let track = world.publish_audio(publisher);
    refusals(&mut world);
    world.publish_video(publisher, &[]);
    world.send(publisher, video(11, 1, KEY));
    world.advance(10);
    let streams = (from, String::from("the data plane holds all the streams it can"));
    assert!(refusals(&mut world).contains(&streams));
    assert!(world.count(Counter::StreamsFull) > 0);
    world.subscribe(receivers[0], track, 100, BEST);
    assert_eq!(refusals(&mut world), []);
    world.subscribe(receivers[1], track, 200, BEST);
    let replicas = (second, String::from("the data plane holds all the replicas it can"));
    assert!(refusals(&mut world).contains(&replicas));
    assert!(world.count(Counter::ReplicasFull) > 0);
    assert_eq!(
        world.count(Counter::WriteRefused),
        0,
        "nothing is written that does not fit"
    );
}
