//! Offloads that answer a write later, in another order or with a refusal: until then the entry
//! runs in the base.

#![expect(clippy::disallowed_methods, reason = "tests start the clock")]

mod support;

use std::time::Duration;

use dataplane::{Counter, DataPlane, Inject, WriteId};
use support::{Pretended, World, port, relay, with_key};

/// The longest time that the layer waits for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// The time after which a relay is offered again.
const AGAIN: Duration = Duration::from_secs(1);

#[test]
fn an_entry_runs_in_the_base_until_the_offload_has_answered() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, relay(1));
    assert_eq!(world.words(1), "base (pending)");
    assert!(world.packet(1));
    assert_eq!(world.plane.base_mut().counters()[Counter::Relayed], 1);
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
    assert_eq!(world.words(1), "switch");
    assert!(world.packet(1));
    assert_eq!(world.plane.base_mut().counters()[Counter::Relayed], 1);
    assert_eq!(world.plane.counters()[Counter::Relayed], 2);
}

#[test]
fn a_late_refusal_offers_the_entry_to_the_next_offload() {
    let mut world = World::with([Pretended::late("switch"), Pretended::new("kernel", 1)]);
    world.set(1, with_key(1));
    world.set(2, relay(1));
    world.offload(0).room = 0;
    world.offload(0).settle(1);
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
    assert_eq!(world.words(1), "base (switch: srtp, kernel: srtp)");
    assert_eq!(world.words(2), "kernel (switch: full)");
}

#[test]
fn of_one_entry_only_the_newest_write_counts() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, relay(1));
    world.set(1, with_key(1));
    world.set(1, relay(1));
    // Answers come in any order.
    for (position, words) in [(1, "base (pending)"), (0, "base (pending)"), (0, "switch")] {
        world.offload(0).settle(position);
        assert_eq!(world.plane.poll(), None);
        assert_eq!(world.words(1), words);
    }
    // The first value was taken, but the second has no place there.
    world.set(1, with_key(1));
    assert_eq!(world.words(1), "base (pending)");
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
    assert_eq!(world.words(1), "base (srtp)");
    assert!(world.offload(0).relays.is_empty());
}

#[test]
fn an_entry_that_is_gone_before_the_answer_stays_gone() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, relay(1));
    world.remove(1);
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None, "the last word is not complete");
    assert_eq!(world.words(1), "nowhere");
    world.offload(0).settle(0);
    assert_eq!(world.report().0, 0);
    assert!(world.offload(0).relays.is_empty());
}

#[test]
fn the_final_report_of_a_relay_waits_for_its_offload() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, relay(1));
    world.packet(1);
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
    world.packet(1);
    world.remove(1);
    // It is not removed there yet, and a new one has the port already.
    world.packet(1);
    world.set(1, relay(1));
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    assert_eq!(world.plane.poll(), None);
    // The switch removes it, takes the new one and counts for that, before anybody hears of the
    // removal.
    world.offload(0).settle(0);
    world.offload(0).settle(0);
    world.packet(1);
    assert_eq!(world.report().0, 3, "one in the base, two in the switch");
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    assert_eq!(world.report().0, 0, "as when it was asked for");
    assert_eq!(world.report().0, 1);
}

#[test]
fn the_base_takes_an_entry_that_an_offload_loses_later() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, relay(1));
    let write: WriteId = world.offload(0).asked[0].0;
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
    world.offload(0).lose(write, port(1));
    assert_eq!(world.plane.poll(), None);
    assert_eq!(world.words(1), "base (gone)");
    assert!(world.packet(1));
}

#[test]
fn counts_of_a_relay_move_with_it_after_its_removal_from_the_first_offload() {
    let mut world = World::with([Pretended::new("switch", 0), Pretended::late("kernel")]);
    world.set(1, relay(1));
    world.offload(1).settle(0);
    assert_eq!(world.plane.poll(), None);
    world.packet(1);
    world.offload(0).room = 1;
    world.set(1, relay(1));
    assert_eq!(world.words(1), "switch");
    world.packet(1);
    for _ in 0..2 {
        world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
        assert_eq!(world.report().0, 2, "before and after the removal");
        if !world.offload(1).asked.is_empty() {
            world.offload(1).settle(0);
        }
        assert_eq!(world.plane.poll(), None);
    }
    world.remove(1);
    world.offload(1).settle(0);
    assert_eq!(world.report().0, 2);
}

#[test]
fn an_offload_that_does_not_answer_is_passed_over() {
    let mut world = World::with([Pretended::late("switch"), Pretended::new("kernel", 1)]);
    world.set(1, relay(1));
    assert_eq!(world.words(1), "base (pending)");
    world.now += ANSWER_TIME;
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    assert_eq!(world.report().0, 0);
    assert_eq!(world.words(1), "kernel (switch: gone)");
    assert!(world.packet(1));
    // It takes the entry late, and is told to remove it in the same order.
    world.offload(0).settle(0);
    assert_eq!(world.offload(0).relays.len(), 1);
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
    assert!(world.offload(0).relays.is_empty());
    assert_eq!(world.words(1), "kernel (switch: gone)");
    assert!(world.packet(1));
}

#[test]
fn the_final_report_does_not_wait_for_an_offload_that_is_gone() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, relay(1));
    world.packet(1);
    world.remove(1);
    assert_eq!(world.plane.poll(), None);
    world.now += ANSWER_TIME;
    world.set(2, relay(2));
    assert_eq!(world.report().0, 1, "without the counts of the switch");
    world.offload(0).settle(0);
    world.offload(0).settle(0);
    assert_eq!(world.plane.poll(), None);
}

#[test]
fn relays_that_were_refused_as_gone_return_when_the_offload_answers() {
    let mut world = World::with([Pretended::new("switch", 8), Pretended::new("kernel", 1)]);
    world.offload(0).is_gone = true;
    for at in [1, 2, 3] {
        world.set(at, relay(at));
    }
    world.remove(3);
    let places = [1, 2].map(|at| world.words(at));
    assert_eq!(places, ["kernel (switch: gone)", "base (switch: gone, kernel: full)"]);
    world.now += 10 * AGAIN;
    world.settle();
    assert_eq!(
        world.words(1),
        "kernel (switch: gone)",
        "it is not asked while it does not answer"
    );
    assert!(world.packet(1));

    world.offload(0).is_gone = false;
    world.settle();
    let places = [1, 2, 3].map(|at| world.words(at));
    assert_eq!(places, ["switch", "switch", "nowhere"]);
    assert_eq!(world.told(), ["switch", "switch"]);
    assert!(world.offload(1).relays.is_empty());
    assert_eq!(world.offload(0).relays.len(), 2);
    assert!(world.packet(1));
    world.plane.inject(world.now, Inject::ReportRelay { at: port(1) });
    assert_eq!(world.report().0, 2, "one in the kernel, one in the switch");
}

#[test]
fn operators_see_that_an_offload_does_not_answer() {
    let mut world = World::with([Pretended::new("switch", 1)]);
    world.set(1, relay(1));
    world.set(2, relay(2));
    assert_eq!(world.told(), ["switch", "base (full)"]);
    world.offload(0).is_gone = true;
    world.settle();
    assert_eq!(
        world.told(),
        ["switch, or base while it does not answer", "base (full)"]
    );
    world.offload(0).is_gone = false;
    world.settle();
    assert_eq!(world.told(), ["switch", "base (full)"]);
}

#[test]
fn a_relay_that_was_not_answered_in_time_is_offered_again_with_its_newest_value() {
    let mut world = World::with([Pretended::late("switch")]);
    world.set(1, with_key(1));
    world.now += ANSWER_TIME;
    world.settle();
    assert_eq!(world.words(1), "base (gone)");
    // A new value takes the place of the one that is to be offered.
    world.set(1, relay(1));
    world.now += ANSWER_TIME;
    world.settle();
    assert_eq!(world.words(1), "base (gone)");
    world.offload(0).asked.clear();
    world.now += AGAIN;
    world.settle();
    assert_eq!(world.words(1), "base (pending)");
    assert_eq!(world.offload(0).asked.len(), 1);
    world.offload(0).settle(0);
    world.settle();
    assert_eq!(world.words(1), "switch");
    world.now += 10 * AGAIN;
    world.settle();
    assert_eq!(world.offload(0).asked.len(), 0, "it is there");
}
