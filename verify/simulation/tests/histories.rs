//! A thousand histories, or the one that `WEIR_SEED` names.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use simulation::{Failure, History, Invariant, Summary, run, shrink};

/// How many histories, unless `WEIR_HISTORIES` says otherwise.
const HISTORIES: u64 = 1_000;
const THREADS: usize = 2;
/// How often a failing history is tried with something left out.
const SHRINK_RUNS_MAX: usize = 80;

#[test]
fn whatever_happens_the_invariants_hold() {
    if let Some(seed) = number("WEIR_SEED") {
        println!("{:?}", play(seed).unwrap_or_else(|why| panic!("{why}")));
        return;
    }
    let (histories, first) = (
        number("WEIR_HISTORIES").unwrap_or(HISTORIES),
        number("WEIR_FIRST_SEED").unwrap_or(0),
    );
    let (next, failed, total) = (
        AtomicU64::new(first),
        Mutex::new(Vec::new()),
        Mutex::new(Summary::default()),
    );
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + histories || failed.lock().unwrap().len() >= 3 {
                        return;
                    }
                    match play(seed) {
                        Ok(summary) => add(&mut total.lock().unwrap(), &summary),
                        Err(why) => failed.lock().unwrap().push(why),
                    }
                }
            });
        }
    });
    println!(
        "{histories} histories in {:.1?}: {:?}",
        began.elapsed(),
        total.lock().unwrap()
    );
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in [1, 2, 3, 11] {
        let history = History::random(seed);
        assert_eq!(
            run(&history, false).map_err(|failure| failure.violation),
            run(&history, false).map_err(|failure| failure.violation),
            "seed {seed}"
        );
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Plays the history of a seed; a failure is made small and told.
fn play(seed: u64) -> Result<Summary, String> {
    let history = History::random(seed);
    let invariant = match catch_unwind(AssertUnwindSafe(|| run(&history, false))) {
        Ok(Ok(summary)) => return Ok(summary),
        Ok(Err(failure)) => Some(failure.violation.invariant),
        Err(_) => None,
    };
    Err(tell(seed, &history, invariant))
}

fn tell(seed: u64, history: &History, invariant: Option<Invariant>) -> String {
    let small = shrink(history, invariant, SHRINK_RUNS_MAX);
    let again = catch_unwind(AssertUnwindSafe(|| run(&small, true)));
    let why = match again {
        Ok(Err(failure)) => Failure::to_string(&failure),
        Ok(Ok(_)) => "it does not fail again: something in it is not drawn from the seed".to_owned(),
        Err(_) => "it panics; see above".to_owned(),
    };
    let steps: Vec<String> = small
        .steps
        .iter()
        .map(|step| {
            format!(
                "{:>9.3} s  person {}: {:?}",
                step.at.as_secs_f64(),
                step.person,
                step.deed
            )
        })
        .collect();
    format!(
        "WEIR_SEED={seed} fails ({invariant:?}). What is left of it when it is made small:\n{}\n\n{why}",
        steps.join("\n")
    )
}

fn add(total: &mut Summary, one: &Summary) {
    total.clients += one.clients;
    total.resumed += one.resumed;
    total.received += one.received;
    total.media += one.media;
    total.repairs += one.repairs;
    total.messages += one.messages;
    total.flows += one.flows;
    total.digest ^= one.digest;
}
