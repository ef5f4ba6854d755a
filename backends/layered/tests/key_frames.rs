//! Rooms behind an offload that begins with a key frame, and answers later or never: one side sends
//! a replica at a time, numbers continue, and the agent learns that a key frame is awaited.

#![expect(clippy::disallowed_methods, reason = "tests start the clock")]

mod rooms;

use std::time::Duration;

use dataplane::{DataPlane, LegId, Model, Refused, ReplicaSnapshot, StreamKey, Update};
use layered::ReplicaLayer;
use rooms::{LISTENER, REPLICA, STREAM, Shared, World, leg, model, offer, replica, switched, words};
use wire::Ssrc;

/// The longest time that the layer waits for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(2);

type Layer = ReplicaLayer<Model, Shared>;

fn with_video() -> (World<Layer>, Shared) {
    let switch = Shared::default();
    let world = World::of_video(|now| ReplicaLayer::new(model(now), switch.clone()));
    (world, switch)
}

/// Has the switch asked to begin with a key frame; the state it is given.
fn ask(world: &mut World<Layer>, switch: &Shared) -> ReplicaSnapshot {
    offer(switch, true);
    world.settle();
    world.settle();
    let asked = &switch.0.borrow().asked;
    assert_eq!(asked.len(), 1, "it is asked");
    asked[0].2.expect("a state")
}

#[test]
fn a_switch_begins_with_a_key_frame_after_the_last_number_of_the_base() {
    let (mut world, switch) = with_video();
    assert_eq!(world.delta_frame(), [101]);
    let from = ask(&mut world, &switch);
    assert_eq!((from.source, from.next, from.newest), (None, 102, 2));
    assert_eq!(world.key_frame(), [0; 0], "neither sends it until the answer");
    switch.0.borrow_mut().settle(Ok(()));
    assert!(world.awaits());
    assert_eq!(words(&world), "switch");
    assert_eq!(world.key_frame(), [0; 0], "the switch does");
}

#[test]
fn the_base_continues_with_a_key_frame_after_a_refusal() {
    let (mut world, switch) = with_video();
    ask(&mut world, &switch);
    switch.0.borrow_mut().settle(Err(Refused::Full));
    assert!(world.awaits());
    assert_eq!(words(&world), "base (full)");
    assert_eq!(world.delta_frame(), [0; 0]);
    assert_eq!(world.key_frame(), [101]);
    assert!(!world.awaits());
}

#[test]
fn a_replica_of_which_nothing_was_sent_moves_with_its_first_number() {
    let (mut world, switch) = with_video();
    let (other, listener) = (dataplane::ReplicaId(2), LegId(2));
    world.write(Update::SetLeg(listener, leg(2)));
    let entry = dataplane::Replica {
        leg: listener,
        first_sequence: 400,
        ..replica(false)
    };
    world.write(Update::SetReplica(other, entry));
    switch.0.borrow_mut().candidates.push_back(dataplane::Candidate {
        replica: other,
        at_key_frame: true,
    });
    world.settle();
    world.settle();
    assert_eq!(switch.0.borrow().asked[0].2.map(|from| from.next), Some(400));
    assert_eq!(world.key_frame(), [101], "to the first listener only");
    switch.0.borrow_mut().settle(Err(Refused::Full));
    assert!(world.awaits());
    assert_eq!(world.key_frame(), [102, 400]);
}

#[test]
fn a_switch_gets_no_state_of_another_source() {
    let (mut world, switch) = with_video();
    offer(&switch, true);
    world.plane.poll();
    // The base has released it. Its numbers are those of the old source.
    let other = StreamKey {
        ssrc: Ssrc(8),
        ..STREAM
    };
    world.write(Update::SetStream(other, rooms::video()));
    let changed = dataplane::Replica {
        source: Some(other),
        ..replica(false)
    };
    world.write(Update::SetReplica(REPLICA, changed));
    world.settle();
    assert!(switch.0.borrow().asked.is_empty(), "it is given none, and refuses");
    world.write(Update::SetReplica(REPLICA, replica(false)));
    assert_eq!(world.key_frame(), [101], "the base continues");
}

#[test]
fn a_switch_that_does_not_answer_loses_the_replica() {
    for is_video in [false, true] {
        let (mut world, switch) = if is_video { with_video() } else { switched() };
        offer(&switch, is_video);
        world.settle();
        world.settle();
        assert_eq!(world.packet(), [0; 0]);
        world.now += ANSWER_TIME;
        world.write(Update::SetLeg(LISTENER, leg(1)));
        assert_eq!(world.awaits(), is_video);
        assert_eq!(
            (words(&world), &*switch.0.borrow().withdrawn),
            ("base (gone)".to_owned(), &[REPLICA][..])
        );
        let first = world.packet()[0];
        assert_eq!(
            first,
            if is_video { 101 } else { 102 },
            "a gap shows the packet that nobody sent"
        );
        // It is not asked again before it has answered.
        offer(&switch, is_video);
        world.settle();
        assert_eq!(switch.0.borrow().asked.len(), 1);
        // An answer that is too late is taken back.
        switch.0.borrow_mut().settle(Ok(()));
        world.settle();
        assert!(switch.0.borrow().sends.is_empty());
        assert_eq!(words(&world), "base (gone)");
        assert_eq!(world.packet(), [first + 1]);
        // From then on it may have the replica.
        offer(&switch, is_video);
        world.settle();
        world.settle();
        switch.0.borrow_mut().settle(Ok(()));
        world.settle();
        assert_eq!((words(&world), world.packet()), ("switch".to_owned(), Vec::new()));
    }
}

#[test]
fn a_replica_that_is_removed_while_the_switch_is_late_leaves_nothing() {
    let (mut world, switch) = switched();
    rooms::ask(&mut world, &switch);
    world.now += ANSWER_TIME;
    world.write(Update::RemoveReplica(REPLICA));
    world.settle();
    switch.0.borrow_mut().settle(Ok(()));
    world.settle();
    assert_eq!((words(&world), world.packet()), (String::new(), Vec::new()));
}
