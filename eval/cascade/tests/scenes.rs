//! Small scenes on real sockets.

use std::time::Duration;

use cascade::scene::{Settings, play};
use cascade::{Link, Outcome, Seats, Tree, Variant};
use skip::skipped;

const SETTINGS: Settings = Settings {
    pictures_per_second: 30,
    warm_up: Duration::from_secs(12),
    window: Duration::from_secs(3),
};

/// A machine that idles less has no time for real sockets.
const IDLE_MIN: f64 = 0.1;

/// Plays a variant; `None` where faults are the machine's.
fn played(variant: &Variant) -> Option<Outcome> {
    let outcome = play(variant, &SETTINGS).expect("there are sockets");
    let idle = outcome.figure("idle");
    if idle < IDLE_MIN {
        skipped(
            "a room on several nodes",
            format!("the machine idles {:.0} %", 100.0 * idle),
        );
        return None;
    }
    assert!(outcome.faults.is_empty(), "{outcome:?}");
    Some(outcome)
}

#[test]
fn a_chain_of_four_nodes_brings_every_packet_to_all() {
    let Some(outcome) = played(&Variant {
        name: "test",
        nodes: 4,
        tree: Tree::Chain,
        receivers: 40,
        seats: Seats::Everywhere,
        link: None,
    }) else {
        return;
    };
    assert_eq!(
        (outcome.figure("whole_near"), outcome.figure("whole_far")),
        (1.0, 1.0),
        "{outcome:?}"
    );
    assert_eq!(outcome.figure("unwanted"), 0.0);
    let times = [0, 1, 2, 3].map(|depth| outcome.figure(&format!("p50_us_{depth}")));
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn a_trunk_with_losses_carries_each_encoding_once_and_repairs_it() {
    let Some(outcome) = played(&Variant {
        name: "test",
        nodes: 2,
        tree: Tree::Star,
        receivers: 20,
        seats: Seats::Everywhere,
        link: Some(Link {
            loss: 0.02,
            delay: Duration::from_millis(10),
        }),
    }) else {
        return;
    };
    let media = outcome.figure("media_packets");
    assert!((0.98..=1.02).contains(&media), "{outcome:?}");
    assert!(outcome.figure("lost") > 3.0, "{outcome:?}");
    assert!(outcome.figure("asked_per_lost") <= 1.5, "{outcome:?}");
    assert!(outcome.figure("whole_far") > 0.98, "{outcome:?}");
}
