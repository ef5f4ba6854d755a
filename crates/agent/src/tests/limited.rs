//! Tests of downlinks that are held to a limit.

use southbound::Command;

use super::adapting::{call, encoding, seconds};
use super::downlink::*;
use super::world::*;

#[test]
fn a_limit_holds_below_what_a_link_carries() {
    let (mut world, mut camera, mut downlink) = call(20_000_000);
    let transport = world.peers[downlink.peer].transport;
    seconds(&mut world, &mut camera, &mut downlink, 5);
    assert_eq!(encoding(&world, &downlink), Some(2));
    let limit = 1_000_000;
    world.command(Command::SetDownlinkLimit {
        transport,
        limit: Some(limit),
    });
    seconds(&mut world, &mut camera, &mut downlink, 2);
    assert_eq!(encoding(&world, &downlink), Some(1));
    let rates = seconds(&mut world, &mut camera, &mut downlink, 20);
    let most = *rates.iter().max().unwrap() * 1_000;
    assert!(most <= limit, "nothing probes beyond the limit: {rates:?}");
    world.command(Command::SetDownlinkLimit { transport, limit: None });
    seconds(&mut world, &mut camera, &mut downlink, 10);
    assert_eq!(encoding(&world, &downlink), Some(2));
    world.close_all();
}

#[test]
fn a_limit_may_be_set_before_anything_is_subscribed() {
    let mut world = World::new();
    let publisher = world.connected_peer();
    let track = world.publish_video(publisher, &RIDS);
    let receiver = world.reporting_peer();
    let transport = world.peers[receiver].transport;
    world.command(Command::SetDownlinkLimit {
        transport,
        limit: Some(300_000),
    });
    world.subscribe(receiver, track, 500, BEST);
    let mut downlink = Downlink::new(&world, receiver, 20_000_000);
    let mut camera = Camera::new(publisher, 11);
    seconds(&mut world, &mut camera, &mut downlink, 10);
    assert_eq!(encoding(&world, &downlink), Some(0));
    world.close_all();
}
