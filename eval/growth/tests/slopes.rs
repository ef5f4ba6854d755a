//! Small sizes of each axis, so that what grows too fast is noticed with the change that made it so.

use growth::axes::{self, Series};
use growth::meter::{Meter, Unit};

/// As many as make a fair mean, no more: builds with all checks are slow.
const REPLICAS: u64 = 5_000;

fn assert_within_bounds(meter: &Meter, all: &[Series]) {
    if meter.unit() != Unit::Instructions {
        return eprintln!("not judged: the processor's counters may not be read here");
    }
    for series in all {
        let slope = series.work(Unit::Instructions);
        assert!(slope.fitted <= series.bound + 0.1, "{}: {slope:?}", series.name);
    }
}

#[test]
fn work_is_linear_in_receivers() {
    let mut meter = Meter::open();
    let all = axes::receivers(&mut meter, &[10, 30, 100], REPLICAS);
    assert_within_bounds(&meter, &all);
}

#[test]
fn work_is_linear_in_rooms() {
    let mut meter = Meter::open();
    let all = axes::rooms(&mut meter, &[1, 3, 10], REPLICAS);
    assert_within_bounds(&meter, &all);
}

#[test]
fn work_does_not_depend_on_the_size_of_tables() {
    let mut meter = Meter::open();
    let all = axes::entries(&mut meter, &[100, 1_000, 10_000], REPLICAS);
    assert_within_bounds(&meter, &all);
}
