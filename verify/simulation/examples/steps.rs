//! Plays the schedule of `eval/adaptation`, which uses real browsers
//! ([`simulation::downlinks::steps`]), repeatedly.
//!
//! `cargo run --release -p simulation --example steps` prints how long videos froze in each step,
//! over some seeds; with a seed, and optionally the bytes of a token bucket, it prints the agent's
//! estimates and decisions for that one.

use std::time::Duration;

use agent::receivers::Granted;
use simulation::downlinks::steps::{STEPS, frozen, meeting, risen, spans};
use simulation::downlinks::{Outcome, play};

const SEEDS: u64 = 40;

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    if let [seed, ref bucket @ ..] = numbers[..] {
        let bucket = bucket.first().map_or(3_100, |bytes| *bytes as u32);
        return timeline(&play(&meeting(seed, bucket))[0]);
    }
    for bucket in [0, 3_100, 10_000] {
        println!(
            "\na bucket of {bucket} bytes: seconds frozen of each picture (median, nine of ten, worst), frames a second, changes"
        );
        let outcomes: Vec<Outcome> = (0..SEEDS).flat_map(|seed| play(&meeting(seed, bucket))).collect();
        for ((_, rate), seconds) in STEPS.iter().zip(spans()) {
            summary(&outcomes, *rate, seconds);
        }
        let mut risen: Vec<(f64, usize)> = outcomes.iter().map(risen).zip(0..).collect();
        risen.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (worst, number) = risen[risen.len() - 1];
        println!(
            "everything granted again after {:.1} s, in nine of ten {:.1}, at worst {worst:.1} (number {number})",
            risen[risen.len() / 2].0,
            risen[risen.len() * 9 / 10].0,
        );
        let sum = |value: fn(&Outcome) -> u64| outcomes.iter().map(value).sum::<u64>() / SEEDS;
        println!(
            "packets that found the queue full: {}, sent again: {}",
            sum(|outcome| outcome.dropped),
            sum(|outcome| outcome.sent_again)
        );
    }
}

fn summary(outcomes: &[Outcome], rate: u64, seconds: std::ops::Range<u64>) {
    let pictures = || outcomes.iter().flat_map(|outcome| &outcome.frames);
    let mut frozen: Vec<f64> = pictures().map(|frames| frozen(frames, &seconds)).collect();
    frozen.sort_by(f64::total_cmp);
    let within = |at: &&Duration| seconds.contains(&at.as_secs());
    let frames = pictures()
        .map(|frames| frames.iter().filter(within).count())
        .sum::<usize>();
    let fps = frames as f64 / (seconds.end - seconds.start) as f64 / frozen.len() as f64;
    let written = outcomes.iter().flat_map(|outcome| &outcome.written);
    let changes = written.filter(|(at, _, _)| seconds.contains(&at.as_secs())).count() as f64 / outcomes.len() as f64;
    let at = |part: f64| frozen[(part * (frozen.len() - 1) as f64) as usize];
    println!(
        "{:5} kbit/s: {:.2} {:.2} {:.2}, {fps:.1} fps, {changes:.1} changes",
        rate / 1000,
        at(0.5),
        at(0.9),
        at(1.0)
    );
}

fn timeline(outcome: &Outcome) {
    for (at, state) in outcome.history.iter().filter(|(at, _)| at.as_secs() + 2 >= STEPS[1].0) {
        let Some(it) = &state.downlink else { continue };
        let pictures = state
            .subscriptions
            .iter()
            .filter(|one| one.kind == wire::MediaKind::Video);
        let pictures: Vec<String> = pictures
            .map(|one| {
                let layer = |target: Option<(u8, u8)>| match target {
                    Some((encoding, u8::MAX)) => format!("{encoding}:all"),
                    Some((encoding, temporal)) => format!("{encoding}:{temporal}"),
                    None => "none".into(),
                };
                let granted = match one.granted {
                    Granted::Send(target) => layer(Some((target.encoding, target.layer.temporal))),
                    other => format!("{other:?}"),
                };
                let current = layer(one.current.map(|current| (current.encoding, current.layer.temporal)));
                let waits = if one.awaits_key_frame { " waits" } else { "" };
                format!("{granted} has {current}{waits}")
            })
            .collect();
        println!(
            "{:6.1} target {} sendable {} arrives {} granted {} of {} {:?}/{:?} queue {} probes {} {}{pictures:?}",
            at.as_secs_f64(),
            it.estimate.target / 1000,
            it.estimate.sendable / 1000,
            it.estimate.acknowledged.unwrap_or(0) / 1000,
            it.allocated / 1000,
            it.wanted / 1000,
            it.estimate.limit,
            it.estimate.usage,
            it.estimate.queue.as_millis(),
            it.probes,
            if it.estimate.application_limited {
                "limited by what there is "
            } else {
                ""
            },
        );
    }
}
