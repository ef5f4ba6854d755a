//! Cost of inputs: a test program of its own, whose allocator counts. `FUZZ_SECONDS` and
//! `FUZZ_TARGET` make long runs of it.

use std::alloc::System;
use std::cell::Cell;
use std::sync::Mutex;
use std::time::Duration;

use fuzz::targets::{TARGETS, Target};
use fuzz::{brief, cost};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for the whole program, so one test runs at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn chosen() -> impl Iterator<Item = &'static Target> {
    let name = std::env::var("FUZZ_TARGET").ok();
    TARGETS
        .iter()
        .filter(move |target| name.as_ref().is_none_or(|name| name == target.name))
}

fn percent_of_limit(target: &Target, input: &[u8]) -> u64 {
    let before = ALLOCATOR.stats().bytes_allocated;
    (target.run)(input);
    let allocated = (ALLOCATOR.stats().bytes_allocated - before) as u64;
    let limit = target.limit.of(input.len());
    assert!(
        allocated <= limit,
        "{} bytes of input made {} allocate {allocated} bytes, and may make it allocate {limit}",
        input.len(),
        target.name
    );
    allocated * 100 / limit
}

#[test]
fn no_input_allocates_more_than_its_length_allows() {
    let _alone = ALONE.lock();
    for target in chosen() {
        // Allocations made once for all inputs do not count.
        (target.seeds)().iter().for_each(|seed| (target.run)(seed));
        let most = Cell::new(0);
        brief::run(target, Duration::from_millis(200), |target, input| {
            most.set(most.get().max(percent_of_limit(target, input)));
        });
        println!("{}: at most {} % of what it may allocate", target.name, most.get());
    }
}

#[test]
fn work_grows_no_faster_than_its_input() {
    let _alone = ALONE.lock();
    let families = chosen().flat_map(|target| target.hostile.iter().map(move |family| (target, *family)));
    let excesses: Vec<_> = families
        .filter_map(|(target, family)| cost::excess(target, family))
        .collect();
    assert!(excesses.is_empty(), "{excesses:#?}");
}
