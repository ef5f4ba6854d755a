//! Tests of small sizes of each axis, so that growth beyond the bounds is noticed with the change
//! that caused it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scaling::axes::{self, Series};
use scaling::meter::{Meter, Unit};

/// As many as make a fair mean, no more: builds with all checks are slow.
const REPLICAS: u64 = 5_000;
const BLUR: f64 = 0.1;

/// Heap is counted for the process, so that one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn assert_within_bounds(meter: &Meter, all: &[Series]) {
    for series in all {
        let memory = series.memory();
        assert!(memory.fitted <= 1.0 + BLUR, "{}, memory: {memory:?}", series.name);
        if meter.unit() != Unit::Instructions {
            eprintln!("not judged: the processor's counters may not be read here");
            continue;
        }
        let work = series.work(Unit::Instructions);
        assert!(work.fitted <= series.bound + BLUR, "{}, work: {work:?}", series.name);
    }
}

#[test]
fn a_shard_is_linear_in_receivers() {
    let _alone = alone();
    let mut meter = Meter::open();
    let all = axes::receivers(&mut meter, &[10, 30, 100], REPLICAS);
    assert_within_bounds(&meter, &all);
}

#[test]
fn an_agent_is_linear_in_receivers() {
    let _alone = alone();
    let mut meter = Meter::open();
    let all = axes::agent(&mut meter, &[3, 10, 30], Duration::from_secs(1));
    assert_within_bounds(&meter, &all);
}

#[test]
fn a_shard_is_linear_in_rooms() {
    let _alone = alone();
    let mut meter = Meter::open();
    let all = axes::rooms(&mut meter, &[1, 3, 10], REPLICAS);
    assert_within_bounds(&meter, &all);
}

#[test]
fn a_shard_does_not_care_for_the_size_of_tables() {
    let _alone = alone();
    let mut meter = Meter::open();
    let all = axes::entries(&mut meter, &[100, 1_000, 10_000], REPLICAS);
    assert_within_bounds(&meter, &all);
}
