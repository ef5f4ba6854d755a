//! A thousand histories, or the one of `WEIR_SEED`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use simulation::{Failure, History, Summary, run, shrink};

/// The number of histories, unless `WEIR_HISTORIES` is set.
const HISTORIES: u64 = 1_000;
const THREADS: usize = 2;
/// How often a failing history is tried with something left out.
const SHRINK_RUNS_MAX: usize = 80;

#[test]
#[expect(clippy::disallowed_methods, reason = "how long it all took is for the reader")]
fn the_invariants_hold_in_random_histories() {
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

/// Plays the history of a seed; a failure is shrunk and reported.
fn play(seed: u64) -> Result<Summary, String> {
    let history = History::random(seed);
    match catch_unwind(AssertUnwindSafe(|| run(&history, false))) {
        Ok(Ok(summary)) => Ok(summary),
        Ok(Err(failure)) => Err(tell(seed, &history, Some(&failure))),
        Err(_) => Err(tell(seed, &history, None)),
    }
}

/// `None` is a panic.
fn tell(seed: u64, history: &History, failure: Option<&Failure>) -> String {
    let small = shrink(
        history,
        failure.map(|failure| failure.violation.invariant),
        SHRINK_RUNS_MAX,
    );
    let why = match catch_unwind(AssertUnwindSafe(|| run(&small, true))) {
        Ok(Err(failure)) => failure.to_string(),
        Ok(Ok(_)) => "This time it did not fail: DTLS draws from the operating system, or something else is not drawn from the seed.".to_owned(),
        Err(_) => "It panics; see above.".to_owned(),
    };
    let first = failure.map_or_else(|| "It panics.".to_owned(), Failure::to_string);
    let steps = small.steps.iter().map(|step| {
        format!(
            "{:>9.3} s  person {}: {:?}\n",
            step.at.as_secs_f64(),
            step.person,
            step.action
        )
    });
    let steps: String = steps.collect();
    format!("WEIR_SEED={seed} fails. {first}\n\nWhat is left of it when it is made small:\n{steps}\n{why}")
}

fn add(total: &mut Summary, one: &Summary) {
    total.clients += one.clients;
    total.takeovers += one.takeovers;
    total.resumed += one.resumed;
    total.received += one.received;
    total.media += one.media;
    total.crossings += one.crossings;
    total.repairs += one.repairs;
    total.messages += one.messages;
    total.flows += one.flows;
    total.digest ^= one.digest;
}
