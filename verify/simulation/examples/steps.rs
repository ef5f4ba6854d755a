//! Plays what `eval/adaptation` does with real browsers: two cameras in three sizes, and one receiver behind 4, 1, 0.5 and 4 Mbit/s.
//!
//! `cargo run --release -p simulation --example steps` prints how long pictures stood still in each step, over some numbers;
//! with a number it prints what the agent believed and did in that one.

use std::time::Duration;

use agent::receivers::Granted;

use simulation::downlinks::{Film, Meeting, Outcome, Way, play};

/// Shape: seconds, bits per second.
const STEPS: [(u64, u64); 4] = [(15, 4_000_000), (40, 1_000_000), (65, 500_000), (90, 4_000_000)];
const END: u64 = 120;
const FRAMES: u64 = 15;
const SEEDS: u64 = 24;

fn main() {
    if let Some(seed) = std::env::args().nth(1) {
        timeline(
            &play(&meeting(
                seed.parse().expect("a number"),
                std::env::args()
                    .nth(2)
                    .map_or(3_100, |bytes| bytes.parse().expect("bytes")),
            ))[0],
        );
        return;
    }
    for bucket in [0, 3_100, 10_000] {
        println!(
            "\na bucket of {bucket} bytes: seconds frozen of each picture (median, nine of ten, worst), frames a second, changes"
        );
        let outcomes: Vec<Outcome> = (0..SEEDS).flat_map(|seed| play(&meeting(seed, bucket))).collect();
        for (index, (from, rate)) in STEPS.iter().enumerate() {
            let to = STEPS.get(index + 1).map_or(END, |step| step.0);
            summary(&outcomes, *rate, *from..to);
        }
        let mut risen: Vec<f64> = outcomes.iter().map(risen).collect();
        risen.sort_by(f64::total_cmp);
        println!(
            "everything granted again after {:.1} s, at worst {:.1}",
            risen[risen.len() / 2],
            risen[risen.len() - 1]
        );
    }
}

fn meeting(seed: u64, bucket: u32) -> Meeting {
    let way = Way {
        rates: STEPS
            .map(|(at, rate)| (Duration::from_secs(if at == STEPS[0].0 { 0 } else { at }), rate))
            .to_vec(),
        delay: Duration::from_millis(10),
        queue: Duration::from_millis(300),
        bucket,
    };
    Meeting {
        senders: 2,
        receivers: vec![(vec![(1280, 720); 2], way)],
        film: Film {
            rates: [120_000, 400_000, 1_400_000],
            frames: FRAMES,
            layered: true,
            uneven: 0.4,
            seed,
            answer: Duration::from_millis(60),
        },
        key_factor: 5,
        length: Duration::from_secs(END),
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

/// As browsers count.
fn frozen(frames: &[Duration], seconds: &std::ops::Range<u64>) -> f64 {
    let mut mean = 1.0 / FRAMES as f64;
    let mut sum = 0.0;
    for pair in frames.windows(2).filter(|pair| seconds.contains(&pair[0].as_secs())) {
        let gap = (pair[1].saturating_sub(pair[0])).as_secs_f64();
        if gap > f64::max(3.0 * mean, mean + 0.15) {
            sum += gap;
        }
        mean += (gap - mean) / 30.0;
    }
    sum
}

/// How long after the last step everything wanted was granted.
fn risen(outcome: &Outcome) -> f64 {
    let from = STEPS[3].0 as f64;
    let all = outcome.history.iter().find(|(at, state)| {
        let it = state.downlink.as_ref();
        at.as_secs_f64() > from && it.is_some_and(|it| it.allocated as f64 >= 0.98 * it.wanted as f64)
    });
    all.map_or(f64::INFINITY, |(at, _)| at.as_secs_f64() - from)
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
