//! A switch that is lost, restarts, is full, or belongs to another controller.

use super::*;
use crate::counter::Counter;
use crate::link::LEASE;

fn on_switch() -> Bench {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 10), opus());
    bench.moved(5, replica(2, 50, key(1, 10), AUDIO), false);
    bench
}

/// Time passes without the switch.
fn wait(bench: &mut Bench, time: Duration) {
    bench.now += time;
    bench.core.at(bench.now).tick();
}

#[test]
fn a_lost_switch_keeps_its_replicas_until_the_lease_is_certainly_over() {
    for why in [Away::Unreachable, Away::NotPrimary] {
        let mut bench = on_switch();
        bench.core.down(why);
        wait(&mut bench, LEASE);
        assert_eq!(
            (bench.returned(), bench.sends(5)),
            (vec![], true),
            "the switch may still send"
        );
        wait(&mut bench, LEASE);
        assert_eq!((bench.returned(), bench.sends(5)), (vec![5], false));
        let snapshot = bench.rooms(|rooms, _| rooms.snapshot(ReplicaId(5))).unwrap();
        assert_eq!(snapshot.next, 70 + numbers::SLACK_LOST);
        assert_eq!(bench.set(5, replica(2, 50, key(1, 10), AUDIO)), Err(Refused::Gone));

        // No lease before the entry that is left is gone.
        bench.core.at(bench.now).found(bench.switch.entries.clone(), 0);
        bench.core.up();
        assert!(!bench.core.renews());
        bench.switch.work(&mut bench.core);
        assert!(bench.switch.of(Table::Replica).is_empty());
        assert!(bench.core.renews());
        bench.pass(AGAIN);
        assert_eq!(bench.candidate(), Some((5, false)));
        let from = ReplicaSnapshot {
            source: Some(key(1, 10)),
            ..ReplicaSnapshot::default()
        };
        assert_eq!(bench.take_over(5, Some(from)), Answer::Pending);
        assert!(bench.sends(5));
    }
}

#[test]
fn a_switch_that_is_back_within_its_lease_keeps_its_replicas() {
    let mut bench = on_switch();
    bench.core.down(Away::Unreachable);
    wait(&mut bench, LEASE / 2);
    let before = bench.send(5);
    bench.reconnect();
    bench.pass(2 * LEASE);
    assert_eq!((bench.returned(), bench.sends(5)), (vec![], true));
    assert_eq!(bench.send(5), before);
}

#[test]
fn a_switch_that_restarted_gives_all_back_at_once_and_gets_them_with_new_epochs() {
    let mut bench = on_switch();
    bench.core.down(Away::Unreachable);
    bench.install();
    assert_eq!(bench.returned(), [5]);
    bench.pass(AGAIN);
    assert_eq!(bench.candidate(), Some((5, false)));
    let from = ReplicaSnapshot {
        source: Some(key(1, 10)),
        ..ReplicaSnapshot::default()
    };
    bench.take_over(5, Some(from));
    assert!(bench.sends(5));
    assert_eq!(bench.core.counters[Counter::Installed], 2);
}

#[test]
fn an_index_that_is_used_again_has_another_epoch() {
    let mut bench = Bench::with(config());
    bench.core.rooms.indexes = Slots::new(0, 1);
    bench.core.rooms.first_epoch = 255;
    bench.legs(2);
    bench.stream(key(1, 10), opus());
    bench.moved(5, replica(2, 50, key(1, 10), AUDIO), false);
    assert_eq!(bench.send(5)[..2], [0, 255]);
    bench.rooms(|rooms, context| rooms.remove_replica(context, ReplicaId(5)));
    bench.switch.work(&mut bench.core);
    assert_eq!(
        bench.set(6, replica(2, 51, key(1, 10), AUDIO)),
        Err(Refused::Full),
        "the index rests"
    );
    bench.pass(crate::slots::REST + AGAIN);
    assert_eq!(bench.candidate(), Some((6, false)));
    let from = ReplicaSnapshot {
        source: Some(key(1, 10)),
        ..ReplicaSnapshot::default()
    };
    bench.take_over(6, Some(from));
    assert_eq!(bench.send(6)[..2], [0, 1], "0 is what registers begin with");
}

#[test]
fn entries_of_nobody_are_deleted_and_counted() {
    let mut bench = on_switch();
    bench.core.down(Away::Unreachable);
    let foreign = Key::Entry(Table::PayloadType, vec![9, 9]);
    bench.switch.entries.insert(foreign.clone(), Value::Data(vec![9]));
    bench
        .switch
        .entries
        .insert(Key::Group(77), Value::Copies([(1, 1)].into()));
    bench.core.at(bench.now).found(bench.switch.entries.clone(), 3);
    bench.core.up();
    bench.switch.work(&mut bench.core);
    assert_eq!(bench.core.counters[Counter::ForeignEntry], 5);
    assert!(!bench.switch.entries.contains_key(&foreign) && bench.sends(5));
}

#[test]
fn a_full_table_leaves_the_new_replica_in_the_base_and_the_others_on_the_switch() {
    for full in [
        Some(Table::Replica),
        Some(Table::PayloadType),
        Some(Table::Receiver),
        None,
    ] {
        let mut bench = on_switch();
        bench.legs(3);
        match full {
            Some(table) => bench.switch.full.push(table),
            None => bench.switch.groups_are_full = true,
        }
        assert_eq!(bench.set(6, replica(3, 60, key(1, 10), AUDIO)), Err(Refused::Pending));
        if let Some((id, _)) = bench.candidate() {
            let from = ReplicaSnapshot {
                source: Some(key(1, 10)),
                ..ReplicaSnapshot::default()
            };
            assert_eq!(bench.take_over(id, Some(from)), Answer::Pending);
            assert_eq!(bench.written()[0].outcome, Err(Refused::Full));
        }
        assert_eq!(
            (bench.sends(5), bench.sends(6), bench.returned()),
            (true, false, vec![]),
            "{full:?}"
        );
        let row = &bench.core.rooms.replicas.get(ReplicaId(6)).unwrap();
        assert!(
            matches!(row.location, Location::Base(Refused::Full)),
            "{full:?}: {:?}",
            row.location
        );
        bench.switch.full.clear();
        bench.switch.groups_are_full = false;
        bench.pass(6 * AGAIN);
        assert_eq!(bench.candidate(), Some((6, false)), "{full:?}: there is room again");
    }
}

#[test]
fn a_take_over_that_is_not_answered_is_given_back() {
    let mut bench = Bench::new();
    bench.legs(2);
    bench.stream(key(1, 10), opus());
    bench.set(5, replica(2, 50, key(1, 10), AUDIO)).unwrap_err();
    assert_eq!(bench.candidate(), Some((5, false)));
    let from = ReplicaSnapshot {
        source: Some(key(1, 10)),
        next: 100,
        ..ReplicaSnapshot::default()
    };
    let answer = bench.rooms(|rooms, context| rooms.take_over(context, WriteId(9), ReplicaId(5), Some(from)));
    assert_eq!(answer, Answer::Pending);
    assert_eq!(bench.core.next_batch().len(), 1, "on its way");
    bench.core.down(Away::Unreachable);
    wait(&mut bench, 2 * LEASE);
    let written = bench.written();
    assert_eq!((written[0].write, written[0].outcome), (WriteId(9), Err(Refused::Gone)));
    let snapshot = bench.rooms(|rooms, _| rooms.snapshot(ReplicaId(5))).unwrap();
    assert_eq!(snapshot.next, 100 + numbers::SLACK_LOST, "the switch may have begun");
    // The write was done after all.
    bench.reconnect();
    assert!(bench.switch.of(Table::Replica).is_empty());
}

#[test]
fn a_switch_that_answers_no_more_gets_no_lease() {
    let mut bench = on_switch();
    for _ in 0..20 {
        bench.now += Duration::from_millis(100);
        bench.core.at(bench.now).renews();
        bench.core.tick();
    }
    assert!(!bench.sends(5));
    assert_eq!(
        (bench.returned(), bench.core.counters[Counter::LeaseOver]),
        (vec![5], 1)
    );
    bench.core.link.answered(bench.now);
    assert!(!bench.core.renews(), "its entry is to be deleted first");
    bench.switch.work(&mut bench.core);
    assert!(bench.core.renews());
}

#[test]
fn a_switch_without_room_for_the_address_leaves_the_room_in_the_base() {
    let mut bench = Bench::new();
    bench.switch.full.push(Table::Service);
    bench.legs(2);
    bench.stream(key(1, 10), opus());
    bench.set(5, replica(2, 50, key(1, 10), AUDIO)).unwrap_err();
    assert_eq!(bench.candidate(), None);
    let row = &bench.core.rooms.replicas.get(ReplicaId(5)).unwrap();
    assert!(
        matches!(row.location, Location::Base(Refused::Full)),
        "{:?}",
        row.location
    );
    bench.switch.full.clear();
    bench.pass(6 * AGAIN);
    assert_eq!(bench.candidate(), Some((5, false)));
}
