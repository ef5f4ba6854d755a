//! Cost of dividing one receiver's estimate: microseconds per call for 100 subscriptions, simulcast
//! of three encodings with three temporal layers each.
//!
//! `cargo bench -p allocation --bench allocate`.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use allocation::{Allocator, BitRate, Config, DecodeTarget, Key, Offer, Policy, Request, Subscription};

const SUBSCRIPTIONS: u64 = 100;
const CALLS: u32 = 2_000;
const RUNS: usize = 9;

fn main() {
    let offers = offers();
    println!("{:<48} {:>8}", "microseconds per call, 100 subscriptions", "");
    let steady = |_| BitRate::kilo(40_000);
    let falling_and_rising = |call: u32| BitRate::kilo(if (call / 20).is_multiple_of(2) { 40_000 } else { 20_000 });
    println!("{:<48} {:>8.1}", "steady estimate", median(&offers, steady, false));
    println!(
        "{:<48} {:>8.1}",
        "estimate halves and doubles",
        median(&offers, falling_and_rising, false)
    );
    println!(
        "{:<48} {:>8.1}",
        "a request changes in each call",
        median(&offers, steady, true)
    );
}

fn median(offers: &[Offer], estimate: impl Fn(u32) -> BitRate, wishes_change: bool) -> f64 {
    let mut runs: Vec<f64> = (0..RUNS).map(|_| run(offers, &estimate, wishes_change)).collect();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}

fn run(offers: &[Offer], estimate: impl Fn(u32) -> BitRate, wishes_change: bool) -> f64 {
    let subscription = |key| Subscription {
        key: Key(key),
        request: Request {
            size: (160 * (1 + key as u16 % 4), 90 * (1 + key as u16 % 4)),
            ..Request::VIDEO
        },
        offers,
    };
    let mut subscriptions: Vec<_> = (0..SUBSCRIPTIONS).map(subscription).collect();
    let mut allocator = Allocator::new(Config::default());
    let began = Instant::now();
    for call in 0..CALLS {
        let now = began + Duration::from_millis(100) * call;
        if wishes_change {
            subscriptions[call as usize % SUBSCRIPTIONS as usize].request.speaker = Some((call % 7) as u8);
        }
        black_box(allocator.allocate(now, estimate(call).into(), &subscriptions));
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
}

fn offers() -> Vec<Offer> {
    let rates = [150, 500, 1_700].map(BitRate::kilo);
    let layer = |encoding: u8, temporal: u8| Offer {
        target: DecodeTarget::new(encoding, 0, temporal),
        rate: rates[usize::from(encoding)].scaled([0.4, 0.2, 0.4][usize::from(temporal)]),
        needed_above: BitRate(0),
        size: (320 << encoding, 180 << encoding),
        fps: [8, 15, 30][usize::from(temporal)],
    };
    let encodings = (0..3).flat_map(|encoding| (0..3).map(move |temporal| (encoding, temporal)));
    encodings
        .map(|(encoding, temporal)| layer(encoding, temporal))
        .collect()
}
