//! The model behind offloads that are pretended: nothing is lost by trying, and sums are right.

#![expect(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use dataplane::{Counter, DataPlane, Inject, Reason, Refused, Update};
use support::{Pretended, World, port, relay, with_key};

#[test]
fn refused_relays_run_in_the_base_and_the_reason_is_counted() {
    let mut world = World::new(2);
    world.set(1, relay(2));
    world.set(2, relay(1));
    world.set(3, relay(1));
    world.set(4, with_key(1));
    world.set(4, with_key(2));
    let places = [1, 2, 3, 4].map(|at| world.words(at));
    assert_eq!(places, ["kernel", "kernel", "base (full)", "base (srtp)"]);
    assert_eq!(world.plane.places().offloaded(), 2);
    let refusals = world.plane.places().refusals();
    assert_eq!(refusals, [(Refused::Unsupported(Reason::Srtp), 2), (Refused::Full, 1)]);
    assert!([1, 2, 3].into_iter().all(|at| world.packet(at)));

    // Once there is room, a replacement is taken.
    world.remove(1);
    world.set(3, relay(2));
    assert_eq!((&*world.words(3), world.place(1)), ("kernel", None));
}

#[test]
fn the_base_replaces_an_offload_that_is_gone() {
    let mut world = World::new(2);
    world.set(1, relay(1));
    world.offload(0).is_gone = true;
    world.set(1, relay(1));
    assert_eq!(world.words(1), "base (gone)");
    assert!(world.packet(1));
    assert_eq!(world.plane.base_mut().counters()[Counter::Relayed], 1);
}

#[test]
fn reports_and_counters_are_sums() {
    let mut world = World::new(2);
    world.set(1, relay(1));
    world.packet(1);
    world.packet(1);
    // Refused for a while: what was counted there stays counted.
    world.offload(0).is_gone = true;
    world.set(1, relay(1));
    world.packet(1);
    world.offload(0).is_gone = false;
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    // A question that nobody answers expects no part of an answer.
    world.plane.inject(world.now, Inject::ReportRelay { at: port(7) });
    assert_eq!(world.report().0, 3);
    assert_eq!(world.plane.poll(), None);
    let counters = world.plane.counters();
    assert_eq!((counters[Counter::Received], counters[Counter::Relayed]), (3, 3));
}

#[test]
fn the_final_counts_of_a_relay_are_not_counted_for_the_next() {
    let mut world = World::new(2);
    world.set(1, relay(1));
    world.packet(1);
    let last = Some(world.now);
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    world.packet(1);
    let very_last = Some(world.now);
    world.remove(1);
    // Nobody has looked yet, and there is another one already.
    world.set(1, relay(1));
    world.packet(1);
    world.packet(1);
    world.packet(1);
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    assert_eq!(world.report(), (1, 100, 0, last));
    assert_eq!(world.report(), (2, 200, 0, very_last));
    assert_eq!(world.report(), (3, 300, 0, Some(world.now)));
}

#[test]
fn relays_that_the_base_refuses_are_not_offered() {
    let mut world = World::new(2);
    let unknown = Update::RemoveRelay(port(1));
    world.plane.write(world.now, unknown).expect_err("it is not there");
    assert!(world.plane.places().entries().is_empty());
    assert_eq!(world.plane.poll(), None);
}

#[test]
fn the_first_offload_that_takes_an_entry_has_it() {
    let mut world = World::with([Pretended::new("switch", 1), Pretended::new("kernel", 1)]);
    for at in [1, 2, 3] {
        world.set(at, relay(at % 3 + 1));
    }
    world.set(4, with_key(1));
    let places = [1, 2, 3, 4].map(|at| world.words(at));
    let expected = [
        "switch",
        "kernel (switch: full)",
        "base (switch: full, kernel: full)",
        "base (switch: srtp, kernel: srtp)",
    ];
    assert_eq!(places, expected);
    assert!([1, 2, 3].into_iter().all(|at| world.packet(at)));
    assert_eq!(world.plane.base_mut().counters()[Counter::Relayed], 1);
    let refusals = world.plane.places().refusals();
    assert_eq!(refusals, [(Refused::Unsupported(Reason::Srtp), 2), (Refused::Full, 3)]);

    // Room in front moves an entry that is written again, and its counts stay with it.
    world.remove(1);
    assert_eq!(world.report().0, 1);
    world.set(2, relay(3));
    assert_eq!(world.words(2), "switch");
    assert!(world.offload(1).relays.is_empty());
    world.packet(2);
    world.plane.inject(world.now, Inject::ReportRelay { at: port(2) });
    assert_eq!(world.report().0, 2);
    world.remove(2);
    assert_eq!(world.report().0, 2);
}
