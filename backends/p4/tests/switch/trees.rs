//! Layers in trees of their own, two of which are branches of one tree.

use std::net::SocketAddr;
use std::time::Instant;

use backend_p4::Replication;
use dataplane::{Counter, Replica, ReplicaId, ReplicaOffload, ReplicaSnapshot, Update};
use wire::codec::Layer;

use crate::bench::{Driver, Switch, until};
use crate::rooms::{copies, key_frame, offer, offer_room, plain, replica, take_over, video};

#[test]
fn layers_go_once_to_those_who_want_them_and_not_into_egress_for_others() {
    Switch::each(layers);
}

fn layers(switch: &Switch, at: SocketAddr) {
    let mut driver = Driver::start(at, Replication::Multicast);
    driver.wait_until_connected();
    offer_room(&mut driver);
    let of = |leg, temporal| Replica {
        target: Layer { spatial: 0, temporal },
        ..replica(leg, 11, 98)
    };
    for (leg, temporal) in [(2, 2), (3, 2), (4, 0)] {
        offer(&mut driver, leg, of(leg, temporal));
        let from = ReplicaSnapshot {
            next: 70,
            ..ReplicaSnapshot::default()
        };
        until("the structure has arrived", || {
            copies(switch, &video(10, &key_frame(1)), 0);
            driver.rooms.next_candidate()
        });
        take_over(&mut driver, leg, from);
    }
    let legs = |media: Vec<u8>, expected| {
        let copies = copies(switch, &media, expected).into_iter();
        let mut legs: Vec<u32> = copies.map(|copy| copy.3 - 1_000).collect();
        legs.sort_unstable();
        legs
    };
    assert_eq!(legs(video(11, &key_frame(2)), 3), [2, 3, 4], "the lowest layer");
    assert_eq!(legs(video(12, &plain(3, 4)), 2), [2, 3], "layer 2");
    assert_eq!(legs(video(13, &plain(4, 2)), 2), [2, 3], "layer 1");
    assert_eq!(legs(video(14, &plain(5, 1)), 3), [2, 3, 4], "the lowest layer");
    until("the counters are read", || (driver.count("pruned") > 0).then_some(()));
    assert_eq!(
        driver.rooms.counters()[Counter::OutsideTarget],
        0,
        "no copy is made that the target leaves out"
    );

    // The layers are there before the target is higher.
    let higher = Update::SetReplica(ReplicaId(4), of(4, 2));
    driver.rooms.offer(Instant::now(), &higher).unwrap();
    let mut number = 15;
    until("the target is written", || {
        number += 1;
        legs(video(number, &key_frame(number)), 3);
        number += 1;
        (legs(video(number, &plain(number, 4)), 3) == [2, 3, 4]).then_some(())
    });
}
