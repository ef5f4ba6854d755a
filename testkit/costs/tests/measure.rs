//! Each way gives a time, as far as this machine has it.

use costs::{Cost, Load, Scene, Way, measure};
use skip::skipped;

/// Measurements of a way before it fails.
const ATTEMPTS: u32 = 8;

fn load(way: Way, is_encrypted: bool) -> Load {
    Load {
        way,
        is_encrypted,
        workers: 1,
        receivers: 10,
        burst: 4,
        bursts: 20,
    }
}

#[test]
fn sockets_are_measured_without_privilege() {
    for is_encrypted in [false, true] {
        let time = measure(&Scene::Loopback, load(Way::Sockets, is_encrypted)).expect("sockets work everywhere");
        assert!(time > 100.0, "{time} ns");
    }
    let refused = measure(&Scene::Loopback, load(Way::Kernel, false)).expect_err("there is no interface");
    assert!(refused.to_string().contains("needs an interface"), "{refused}");
}

#[test]
fn costs_are_measured_of_several_workers_with_sockets_only() {
    let several = |way| Load {
        workers: 2,
        ..load(way, true)
    };
    let time = measure(&Scene::Loopback, several(Way::Sockets)).expect("sockets work everywhere");
    assert!(time > 100.0, "{time} ns");
    for way in [Way::Rings, Way::Kernel] {
        let refused = measure(&Scene::Loopback, several(way)).expect_err("they have one queue");
        assert!(refused.to_string().contains("with sockets only"), "{refused}");
    }
}

#[test]
fn every_way_is_measured_on_a_cable() {
    let scene = match Scene::cable(1) {
        Ok(scene) => scene,
        Err(reason) => return skipped("nothing was tested", reason),
    };
    for (way, is_encrypted) in [
        (Way::Sockets, true),
        (Way::Rings, false),
        (Way::Rings, true),
        (Way::Kernel, false),
    ] {
        let mut time = 0.0;
        // Beside other processes copies may be missing, and their packets take the thread's time.
        for attempt in 1..=ATTEMPTS {
            match measure(&scene, load(way, is_encrypted)) {
                Ok(measured) => time = measured,
                Err(error) => assert!(attempt < ATTEMPTS, "{way:?}: {error}"),
            }
            if time > 100.0 {
                break;
            }
        }
        eprintln!("{way:?}, encrypted {is_encrypted}: {time:.0} ns a packet to ten");
        assert!(time > 100.0, "{way:?}: {time} ns");
    }
}

#[test]
fn a_cost_is_the_line_through_two_times() {
    let cost = Cost::through((4, 1_400.0), (40, 5_000.0));
    let expected = Cost {
        packet_ns: 1_000.0,
        replica_ns: 100.0,
    };
    assert_eq!(cost, expected);
    assert_eq!(
        Cost::through((4, 400.0), (40, 5_000.0)).packet_ns,
        0.0,
        "never below nothing"
    );
}
