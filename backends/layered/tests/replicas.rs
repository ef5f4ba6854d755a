//! Rooms of the model behind an offload that is pretended, and that answers later: nobody sends a
//! replica twice, and its numbers go on whatever the answer.

#![expect(clippy::disallowed_methods, reason = "tests start the clock")]

mod rooms;

use dataplane::{Counter, DataPlane, Refused, Update};
use layered::ReplicaLayer;
use rooms::{REPLICA, Shared, World, ask, model, offer, replica, switched, words};

#[test]
fn the_base_sends_a_replica_until_the_switch_is_ready() {
    let (mut world, switch) = switched();
    assert_eq!(words(&world), "base (pending)");
    assert_eq!(world.packet(), [101]);
    ask(&mut world, &switch);
    assert_eq!(world.packet(), [0; 0], "neither sends it until the answer");
    switch.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!(words(&world), "switch");
    assert_eq!(world.packet(), [0; 0], "the switch does");
}

#[test]
fn the_base_continues_after_its_last_number_after_a_late_refusal() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    assert_eq!(world.packet(), [0; 0]);
    switch.0.borrow_mut().settle(Err(Refused::Full));
    world.settle();
    assert_eq!(words(&world), "base (full)");
    assert_eq!(world.packet(), [102], "the gap of one packet is shown");
    assert_eq!(world.packet(), [103]);
}

#[test]
fn a_replica_that_changes_before_the_answer_is_not_sent_twice() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    world.write(Update::SetReplica(REPLICA, replica(true)));
    world.write(Update::SetReplica(REPLICA, replica(false)));
    assert_eq!(world.packet(), [0; 0], "the switch may have begun");
    switch.0.borrow_mut().settle(Err(Refused::Full));
    world.settle();
    let numbers = world.packet();
    assert!(numbers.len() == 1 && numbers[0] > 100, "{numbers:?}");
}

#[test]
fn a_replica_that_is_gone_before_the_answer_stays_gone() {
    for outcome in [Ok(()), Err(Refused::Full)] {
        let (mut world, switch) = switched();
        ask(&mut world, &switch);
        world.write(Update::RemoveReplica(REPLICA));
        switch.0.borrow_mut().settle(outcome);
        world.settle();
        assert_eq!((words(&world), world.packet()), (String::new(), Vec::new()));
    }
}

#[test]
fn the_base_continues_replicas_that_a_switch_loses() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    switch.0.borrow_mut().settle(Ok(()));
    world.settle();
    let mut lost = switch.0.borrow_mut();
    lost.sends.clear();
    lost.returned.push_back(REPLICA);
    drop(lost);
    world.settle();
    assert_eq!(words(&world), "base (gone)");
    assert_eq!(world.packet(), [101]);
}

#[test]
fn packets_that_the_switch_copies_are_not_missed_by_the_base() {
    let (mut world, switch) = switched();
    ask(&mut world, &switch);
    switch.0.borrow_mut().settle(Ok(()));
    world.settle();
    let counted = |world: &mut World<ReplicaLayer<_, _>>| {
        let counters = world.plane.counters();
        (counters[Counter::CopiedByOffload], counters[Counter::NoReplica])
    };
    let before = counted(&mut world);
    world.packet();
    assert_eq!(counted(&mut world), (before.0 + 1, before.1));
    // Nobody gets it: it is paused, or gone.
    world.write(Update::SetReplica(REPLICA, replica(true)));
    world.packet();
    assert_eq!(counted(&mut world), (before.0 + 1, before.1 + 1));
    world.write(Update::SetReplica(REPLICA, replica(false)));
    world.packet();
    world.write(Update::RemoveReplica(REPLICA));
    world.packet();
    assert_eq!(counted(&mut world), (before.0 + 2, before.1 + 2));
}

#[test]
fn offloads_in_a_row_are_layers_in_front_of_each_other() {
    let [front, back] = [Shared::default(), Shared::default()];
    let mut world = World::new(|now| ReplicaLayer::new(ReplicaLayer::new(model(now), back.clone()), front.clone()));
    // The one behind has it first.
    ask(&mut world, &back);
    back.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!(world.packet(), [0; 0]);
    // It does not let go to the one in front, which is no loss.
    offer(&front, false);
    world.settle();
    world.settle();
    assert!(front.0.borrow().asked.is_empty());
    // The base goes on once neither has it, and the one in front may take it from there.
    back.0.borrow_mut().sends.clear();
    back.0.borrow_mut().returned.push_back(REPLICA);
    world.settle();
    assert_eq!(world.packet(), [102], "the switch has sent one");
    ask(&mut world, &front);
    front.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!(world.packet(), [0; 0]);
    assert!(world.plane.capabilities().copies);
}
