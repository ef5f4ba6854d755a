//! The generator through the bare loop: every packet reaches the other party, whole and once.

use std::time::Duration;

use media_relay::phones::{Cables, Mac};
use media_relay::scene::{Between, Load, Scene};
use media_relay::xdp::{Attached, Program};
use nix::ifaddrs::getifaddrs;
use veth::Side;

const PHONES: Mac = [0x02, 0x77, 0, 0, 0, 0x01];

fn load(calls: u32) -> Load {
    Load {
        calls,
        per_second: 100,
        settle: Some(Duration::from_millis(200)),
        window: Duration::from_secs(1),
        timeline: true,
    }
}

fn mac(side: &Side) -> Mac {
    let read = || {
        let mut all = getifaddrs().expect("interfaces");
        all.find_map(|it| {
            let link = it.address?;
            let is_it = it.interface_name == side.interface;
            is_it.then(|| link.as_link_addr()?.addr()).flatten()
        })
    };
    side.run(read).expect("it has one")
}

#[test]
fn calls_through_the_bare_loop_lose_nothing() {
    let Some(pair) = veth::pair_or_skip(1) else { return };
    let interface = pair.near.interface;
    let attached = pair
        .near
        .run(|| Attached::to(interface, Program::Bounce))
        .expect("root may");
    let far = pair.far.interface.to_owned();
    let cables = Cables {
        interfaces: [far.clone(), far],
        addresses: [[10, 77, 0, 10].into(), [10, 77, 0, 11].into()],
        phones: PHONES,
        other: mac(&pair.near),
    };
    let between = Between::Mirror(pair.near.v4);
    let outcome = pair.far.run(|| Scene::measure(&cables, between, None, &load(10)));
    let outcome = outcome.expect("measured");
    let packets = outcome.packets;
    assert_eq!(outcome.established, 10);
    assert!(packets.sent >= 900, "{packets:?}");
    let faults = [packets.lost(), packets.duplicates, packets.foreign, packets.missed];
    assert_eq!(faults, [0; 4], "{packets:?}");
    assert!(outcome.timeline.last().is_some_and(|moment| moment.calls == 10));
    // Without a program in between, no packet arrives.
    drop(attached);
    let outcome = pair.far.run(|| Scene::measure(&cables, between, None, &load(2)));
    let packets = outcome.expect("measured").packets;
    assert_eq!((packets.received, packets.lost()), (0, packets.sent));
}
