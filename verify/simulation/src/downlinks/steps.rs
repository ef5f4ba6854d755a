//! The downlink of `eval/adaptation`, which uses real browsers: two cameras in three sizes, and one
//! receiver behind 4, 1, 0.5 and 4 Mbit/s.

use std::ops::Range;
use std::time::Duration;

use super::{Film, Meeting, Outcome, Way};

/// Shape: seconds, bits per second.
pub const STEPS: [(u64, u64); 4] = [(15, 4_000_000), (40, 1_000_000), (65, 500_000), (90, 4_000_000)];
/// When it is over. Shape: seconds.
pub const END: u64 = 120;
const FRAMES: u64 = 15;

/// The meeting, with cameras made from this number, through a token bucket of `bucket` bytes.
pub fn meeting(seed: u64, bucket: u32) -> Meeting {
    let [(_, first), rest @ ..] = STEPS;
    let rates = std::iter::once((0, first)).chain(rest);
    let way = Way {
        rates: rates.map(|(at, rate)| (Duration::from_secs(at), rate)).collect(),
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

/// When each step begins and ends. Shape: seconds.
pub fn spans() -> impl Iterator<Item = Range<u64>> {
    let ends = STEPS[1..].iter().map(|step| step.0).chain([END]);
    STEPS.iter().map(|step| step.0).zip(ends).map(|(from, to)| from..to)
}

/// Time for which a video was frozen, as browsers count: gaps of more than three times the usual,
/// and of 150 ms more than that. Shape: seconds.
pub fn frozen(frames: &[Duration], within: &Range<u64>) -> f64 {
    let mut usual = 1.0 / FRAMES as f64;
    let mut sum = 0.0;
    for pair in frames.windows(2).filter(|pair| within.contains(&pair[0].as_secs())) {
        let gap = pair[1].saturating_sub(pair[0]).as_secs_f64();
        if gap > f64::max(3.0 * usual, usual + 0.15) {
            sum += gap;
        }
        usual += (gap - usual) / 30.0;
    }
    sum
}

/// How long after the last step everything wanted was granted, if ever. Shape: seconds.
pub fn risen(outcome: &Outcome) -> f64 {
    let from = STEPS[STEPS.len() - 1].0 as f64;
    let all = outcome.history.iter().find(|(at, state)| {
        let it = state.downlink.as_ref();
        at.as_secs_f64() > from && it.is_some_and(|it| it.allocated as f64 >= 0.98 * it.wanted as f64)
    });
    all.map_or(f64::INFINITY, |(at, _)| at.as_secs_f64() - from)
}
