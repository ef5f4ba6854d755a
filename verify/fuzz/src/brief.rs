//! The brief run: mutated seeds for a fixed time, always the same ones.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use crate::mutator::{Dice, next_input};
use crate::targets::Target;

/// Inputs between two looks at the clock.
const BATCH: u64 = 16;

/// Runs a target over its seeds and then over mutated ones, for `FUZZ_SECONDS` or by default for
/// `otherwise`.
///
/// The inputs depend on `FUZZ_SEED` (0 when unset) alone; only their number depends on the machine.
/// `measured` runs each input; it may panic as well.
///
/// Panics: when the target does, after printing the input.
#[expect(clippy::disallowed_methods, reason = "a test that runs for a fixed time")]
pub fn run(target: &Target, otherwise: Duration, measured: impl Fn(&Target, &[u8])) {
    let seeds = target.all_seeds();
    seeds.iter().for_each(|seed| try_input(target, &measured, seed));
    let time = from_environment("FUZZ_SECONDS").map_or(otherwise, Duration::from_secs);
    let end = Instant::now() + time;
    let mut dice = Dice::new(from_environment("FUZZ_SEED").unwrap_or(0));
    let mut input = Vec::new();
    let mut tried = 0;
    while Instant::now() < end {
        for _ in 0..BATCH {
            next_input(&mut dice, &seeds, &mut input);
            try_input(target, &measured, &input);
        }
        tried += BATCH;
    }
    println!("{}: {tried} inputs", target.name);
}

/// Runs a target over one input.
///
/// Panics: when the target does, after printing the input.
pub fn once(target: &Target, input: &[u8]) {
    try_input(target, |target, input| (target.run)(input), input);
}

fn try_input(target: &Target, measured: impl Fn(&Target, &[u8]), input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| measured(target, input))) {
        eprintln!("{} failed on {} bytes: {}", target.name, input.len(), hex(input));
        resume_unwind(panic);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
