//! Plays the scenarios whose name contains a text, with Weir's estimator, and prints the phases
//! that fall short; or prints one of them sample by sample.
//!
//! `cargo run -p links --release --example explore NAME FIRST_SEED LAST_SEED` or `... explore NAME
//! SEED`

use std::env;

use links::scenario::Kind;
use links::{Candidate, Scenario, catalogue, judge, run};

fn main() {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let seeds: Vec<u64> = arguments.filter_map(|argument| argument.parse().ok()).collect();
    for scenario in catalogue().iter().filter(|scenario| scenario.name.contains(&name)) {
        match seeds[..] {
            [first, last] => summarize(scenario, first, last),
            [seed] => print(scenario, seed),
            _ => println!("{}", scenario.name),
        }
    }
}

fn summarize(scenario: &Scenario, first: u64, last: u64) {
    let (mut kept, mut of) = (0, 0);
    let mut uneven = 0.0;
    let mut short = Vec::new();
    for seed in first..=last {
        let trace = run(scenario, Candidate::Weir, seed);
        let judged: Vec<(bool, String)> = match scenario.kind {
            Kind::Settles => judge::phases(scenario, &trace)
                .into_iter()
                .map(|seen| {
                    let settled = seen.settled.map_or(f64::INFINITY, |settled| settled.as_secs_f64());
                    let text = format!(
                        "seed {seed} from {} s: settled {settled:.2}, level {:.2}, within {:.2}, queue {}",
                        seen.from.as_secs(),
                        seen.level,
                        seen.within,
                        seen.queue.as_millis()
                    );
                    (seen.in_time() && seen.short_queue(), text)
                })
                .collect(),
            Kind::Follows => {
                let within = judge::following(scenario, &trace);
                vec![(within > 0.85, format!("seed {seed} within {within:.2}"))]
            }
            Kind::Shares => {
                let share = judge::share(&trace).unwrap_or_default();
                uneven += (share - 0.5).abs() / (last - first + 1) as f64;
                let queue = judge::longest_queue(scenario, &trace);
                let is_kept = judge::is_fair(share) && queue <= judge::QUEUE_MAX;
                vec![(
                    is_kept,
                    format!("seed {seed} share {share:.2}, queue {}", queue.as_millis()),
                )]
            }
        };
        of += judged.len();
        kept += judged.iter().filter(|(kept, _)| *kept).count();
        short.extend(judged.into_iter().filter(|(kept, _)| !kept).map(|(_, text)| text));
    }
    println!("{kept:4} of {of:4}  {}", scenario.name);
    if scenario.kind == Kind::Shares {
        println!("        distance from half {uneven:.3}");
    }
    for text in short {
        println!("        {text}");
    }
}

fn print(scenario: &Scenario, seed: u64) {
    println!(
        "# {}, seed {seed}: s, available, target, sendable, acknowledged, limit, usage, queue ms (ours, true), loss",
        scenario.name
    );
    for sample in run(scenario, Candidate::Weir, seed).samples {
        print!("{:6.2} {:8.0}", sample.at.as_secs_f64(), sample.available / 1e3);
        for flow in &sample.flows {
            let estimate = flow.estimate;
            print!(
                " | {:6} {:6} {:6} {:?} {:?} {:4} {:.3} pad {}",
                estimate.target / 1000,
                estimate.sendable / 1000,
                estimate.acknowledged.unwrap_or_default() / 1000,
                estimate.limit,
                estimate.usage,
                estimate.queue.as_millis(),
                estimate.loss,
                flow.padding
            );
        }
        println!(" | {:4}", sample.queue.as_millis());
    }
}
