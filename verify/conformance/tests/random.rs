//! Random histories on every device, side by side with the model.
//!
//! `WEIR_SEED=n` replays one seed; `WEIR_CASES=n` runs that many, and `WEIR_STEPS=n` makes each
//! that long.

use std::time::Instant;

use conformance::device::{InlineDevice, ModelDevice};
use conformance::differential::{Difference, agree, check, check_clean, compare};
use conformance::random::{
    Network, Options, RelayOptions, Srtp, disturbed, handed_over, history, numbered, relay_history, with_feedback,
};
use conformance::shrink::shrink;
use conformance::text::print_history;
use conformance::{Device, Step, Subject};
use dataplane::{Counter, Counters, Rewriting};

#[allow(clippy::disallowed_methods, reason = "a test has to start somewhere")]
fn now() -> Instant {
    Instant::now()
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().expect("a number"))
}

/// Runs seeds from `first` on; a failure is made small and printed as a vector.
fn run_seeds(first: u64, cases: u64, srtp: Srtp, run: impl Fn(&[Step], Instant) -> Result<(), Difference>) {
    run_network(first, cases, srtp, Network::Rough, run);
}

fn run_network(
    first: u64,
    cases: u64,
    srtp: Srtp,
    network: Network,
    run: impl Fn(&[Step], Instant) -> Result<(), Difference>,
) {
    run_altered(first, cases, srtp, network, |steps, _, _| steps, run);
}

/// The same for histories that are altered with their seed.
fn run_altered(
    first: u64,
    cases: u64,
    srtp: Srtp,
    network: Network,
    alter: impl Fn(Vec<Step>, u64, Instant) -> Vec<Step>,
    run: impl Fn(&[Step], Instant) -> Result<(), Difference>,
) {
    let first = from_environment("WEIR_SEED").unwrap_or(first);
    let alone = std::env::var_os("WEIR_SEED").map(|_| 1);
    let cases = from_environment("WEIR_CASES").or(alone).unwrap_or(cases);
    let steps = from_environment("WEIR_STEPS").unwrap_or(500) as usize;
    let start = now();
    for seed in first..first + cases {
        let options = Options {
            steps,
            srtp,
            network,
            shares_paths: srtp == Srtp::Mixed && network == Network::Rough,
        };
        let steps = alter(history(seed, options), seed, start);
        if let Err(difference) = run(&steps, start) {
            let whole = difference.to_string();
            let sends = sends(&steps);
            let (steps, difference) = shrink(steps, difference, |steps| {
                // A clean network loses packets only at the end.
                let is_clean = network == Network::Rough || sends.starts_with(&self::sends(steps));
                is_clean.then(|| run(steps, start).err()).flatten()
            });
            let title = format!("Seed {seed} fails {difference}").replace('\n', "\n# ");
            let text = print_history(&title, &steps);
            let left = steps.len();
            panic!("seed {seed} with SRTP {srtp:?} fails {whole}\n{left} steps are left of it:\n\n{text}");
        }
    }
}

fn sends(steps: &[Step]) -> Vec<Step> {
    let sends = steps.iter().filter(|step| matches!(step, Step::Send(_)));
    sends.cloned().collect()
}

fn new_model(start: Instant) -> Box<dyn Device> {
    Box::new(ModelDevice::new(start))
}

#[test]
fn the_model_keeps_the_invariants() {
    run_seeds(1, 150, Srtp::Never, |steps, start| check(steps, &new_model, start));
}

#[test]
fn the_model_keeps_the_invariants_with_keys() {
    run_seeds(10_001, 100, Srtp::Mixed, |steps, start| check(steps, &new_model, start));
}

#[test]
fn the_model_sends_estimates_on_and_keeps_the_invariants() {
    for network in [Network::Rough, Network::Clean] {
        run_altered(94_001, 60, Srtp::Never, network, with_feedback, |steps, start| {
            check(steps, &new_model, start)
        });
    }
}

/// Only the model is checked for decodability; a device that equals the model need not be checked
/// again.
#[test]
fn the_model_sends_decodable_streams_over_a_clean_network() {
    run_network(60_001, 150, Srtp::Never, Network::Clean, |steps, start| {
        check_clean(steps, &new_model, start)
    });
}

#[test]
fn one_shard_selects_as_the_model_does_over_a_clean_network() {
    run_network(70_001, 100, Srtp::Never, Network::Clean, |steps, start| {
        compare(steps, &one_shard, start)
    });
}

#[test]
fn one_shard_does_what_the_model_does() {
    run_seeds(20_001, 150, Srtp::Never, |steps, start| {
        compare(steps, &one_shard, start)
    });
}

#[test]
fn one_shard_does_what_the_model_does_with_keys() {
    run_seeds(30_001, 100, Srtp::Mixed, |steps, start| {
        compare(steps, &one_shard, start)
    });
}

#[test]
fn three_shards_do_what_the_model_does() {
    run_seeds(40_001, 100, Srtp::Never, |steps, start| {
        compare(steps, &three_shards, start)
    });
}

#[test]
fn three_shards_do_what_the_model_does_with_keys() {
    run_seeds(50_001, 100, Srtp::Mixed, |steps, start| {
        compare(steps, &three_shards, start)
    });
}

/// The promises of these rewriters hold for streams that keep their cadence; this test compares two
/// of them on any stream.
fn number_by_frames_alike(first: u64, new_device: impl Fn(Instant) -> Box<dyn Device>) {
    let by_frames = [Rewriting::LowMemory, Rewriting::LowRetransmission];
    for (rewriting, network) in by_frames
        .into_iter()
        .flat_map(|kind| [(kind, Network::Rough), (kind, Network::Clean)])
    {
        let cases = first..first + 60;
        for seed in cases {
            let options = Options {
                steps: 500,
                srtp: Srtp::Never,
                network,
                shares_paths: false,
            };
            let mut steps = numbered(history(seed, options), rewriting);
            if network == Network::Clean {
                steps = disturbed(steps, seed);
            }
            let start = now();
            if let Err(difference) = agree(&steps, &new_device, start) {
                let whole = difference.to_string();
                let (steps, _) = shrink(steps, difference, |steps| agree(steps, &new_device, start).err());
                panic!(
                    "seed {seed} by {rewriting:?} fails {whole}\n\n{}",
                    print_history("Remaining steps of it.", &steps)
                );
            }
        }
    }
}

#[test]
fn one_shard_numbers_by_frames_as_the_model_does() {
    number_by_frames_alike(90_001, one_shard);
}

#[test]
fn three_shards_number_by_frames_as_the_model_does() {
    number_by_frames_alike(91_001, three_shards);
}

fn hand_over_alike(first: u64, new_device: impl Fn(Instant) -> Box<dyn Device>) {
    for network in [Network::Rough, Network::Clean, Network::Described] {
        run_altered(first, 60, Srtp::Never, network, handed_over, |steps, start| {
            agree(steps, &new_device, start)
        });
    }
    run_altered(first, 60, Srtp::Mixed, Network::Rough, handed_over, |steps, start| {
        agree(steps, &new_device, start)
    });
    let by_frames = |steps, seed, start| handed_over(numbered(steps, Rewriting::LowRetransmission), seed, start);
    run_altered(first, 60, Srtp::Never, Network::Described, by_frames, |steps, start| {
        agree(steps, &new_device, start)
    });
}

#[test]
fn one_shard_hands_replicas_over_as_the_model_does() {
    hand_over_alike(92_001, one_shard);
}

#[test]
fn three_shards_hand_replicas_over_as_the_model_does() {
    hand_over_alike(93_001, three_shards);
}

fn one_shard(start: Instant) -> Box<dyn Device> {
    Box::new(InlineDevice::new(1, start))
}

fn three_shards(start: Instant) -> Box<dyn Device> {
    Box::new(InlineDevice::new(3, start))
}

fn run_relays(first: u64, cases: u64, run: impl Fn(&[Step], Instant) -> Result<(), Difference>) {
    let first = from_environment("WEIR_SEED").unwrap_or(first);
    let alone = std::env::var_os("WEIR_SEED").map(|_| 1);
    let cases = from_environment("WEIR_CASES").or(alone).unwrap_or(cases);
    let options = RelayOptions {
        steps: from_environment("WEIR_STEPS").unwrap_or(500) as usize,
        is_virtual: true,
    };
    let start = now();
    for seed in first..first + cases {
        let steps = relay_history(seed, options);
        if let Err(difference) = run(&steps, start) {
            let whole = difference.to_string();
            let (steps, difference) = shrink(steps, difference, |steps| run(steps, start).err());
            let title = format!("Seed {seed} fails {difference}").replace('\n', "\n# ");
            let text = print_history(&title, &steps);
            panic!(
                "seed {seed} fails {whole}\n{} steps are left of it:\n\n{text}",
                steps.len()
            );
        }
    }
}

#[test]
fn relays_of_the_model_keep_the_invariants() {
    run_relays(80_001, 150, |steps, start| check(steps, &new_model, start));
}

#[test]
fn one_shard_relays_as_the_model_does() {
    run_relays(81_001, 150, |steps, start| compare(steps, &one_shard, start));
}

#[test]
fn three_shards_relay_as_the_model_does() {
    run_relays(82_001, 150, |steps, start| compare(steps, &three_shards, start));
}

/// A generator that never reaches a case proves nothing about it.
#[test]
fn random_histories_reach_every_counter_often() {
    // Queues and sockets are not the model's, and these histories have no offload.
    let unreachable = [
        Counter::CopiedByOffload,
        Counter::ReceiveOverflow,
        Counter::PuntQueueFull,
        Counter::Overloaded,
        Counter::WorkerQueueFull,
        Counter::PaceQueueFull,
        Counter::SendFailed,
        Counter::KeysExhausted,
    ];
    let mut total = Counters::default();
    let start = now();
    for seed in 0..200 {
        let srtp = if seed % 2 == 0 { Srtp::Never } else { Srtp::Mixed };
        let mut subject = Subject::new(new_model(start), start);
        for step in history(
            seed,
            Options {
                steps: 500,
                srtp,
                network: Network::Rough,
                shares_paths: srtp == Srtp::Mixed,
            },
        ) {
            subject.step(&step);
        }
        total.add(&subject.device.counters());
    }
    for seed in 0..60 {
        let mut subject = Subject::new(new_model(start), start);
        let options = RelayOptions {
            steps: 500,
            is_virtual: true,
        };
        for step in relay_history(seed, options) {
            subject.step(&step);
        }
        total.add(&subject.device.counters());
    }
    for (counter, count) in total.iter() {
        println!("{:>24} {count}", counter.name());
        assert!(
            count >= 5 || unreachable.contains(&counter),
            "{} is {count}",
            counter.name()
        );
    }
}
