//! The brief run: mutated seeds for a fixed time, always the same ones.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use crate::mutator::{Dice, next_input};

/// Inputs between two looks at the clock.
const BATCH: u64 = 64;

/// Runs a target over its seeds and then over changed ones, for two seconds or what `FUZZ_SECONDS` says.
///
/// The inputs depend on `FUZZ_SEED` (0 when unset) alone; only how many are tried depends on the machine.
///
/// Panics: when the target does, after printing the input that made it.
#[expect(clippy::disallowed_methods, reason = "a test that runs for a fixed time")]
pub fn run(name: &str, target: fn(&[u8]), seeds: &[Vec<u8>]) {
    seeds.iter().for_each(|seed| try_input(name, target, seed));
    let end = Instant::now() + Duration::from_secs(from_environment("FUZZ_SECONDS", 2));
    let mut dice = Dice::new(from_environment("FUZZ_SEED", 0));
    let mut input = Vec::new();
    let mut tried = 0;
    while Instant::now() < end {
        for _ in 0..BATCH {
            next_input(&mut dice, seeds, &mut input);
            try_input(name, target, &input);
        }
        tried += BATCH;
    }
    println!("{name}: {tried} inputs");
}

fn try_input(name: &str, target: fn(&[u8]), input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        eprintln!("{name} failed on {} bytes: {}", input.len(), hex(input));
        resume_unwind(panic);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(otherwise)
}
