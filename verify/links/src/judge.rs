//! Criteria of a trace: how soon the estimate settles, how long the queue is then, how two flows
//! share.

use std::time::Duration;

use crate::scenario::Kind;
use crate::{Sample, Scenario, Trace};

/// The share of samples after settling that must be within the band.
const SETTLED: f64 = 0.95;

/// No longer queue than this after settling.
pub const QUEUE_MAX: Duration = Duration::from_millis(300);
/// Neither of two flows gets less than this over a minute.
pub const SHARE_MIN: f64 = 0.35;

/// Results of one stretch of constant capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// When the stretch begins.
    pub from: Duration,
    /// The previous capacity, if any, and the present one, as far as they are of use. Shape: bits
    /// per second.
    pub before: Option<f64>,
    /// See `before`.
    pub capacity: f64,
    /// How long it took until 95 % of all later samples were within the band, and no later queue
    /// longer than [`QUEUE_MAX`].
    pub settled: Option<Duration>,
    /// How long it may take.
    pub allowed: Duration,
    /// The longest queue after settling, or after it should have.
    pub queue: Duration,
    /// Mean of the estimate over the available rate, after settling or after it should have.
    pub level: f64,
    /// Part of the samples within the band, after it should have settled.
    pub within: f64,
}

impl Judgement {
    /// Whether it settled in time.
    pub fn in_time(&self) -> bool {
        self.settled.is_some_and(|settled| settled <= self.allowed)
    }

    /// Whether the queue stayed short.
    pub fn short_queue(&self) -> bool {
        self.queue <= QUEUE_MAX
    }
}

/// Judges the first flow's estimate in every stretch of constant capacity.
pub fn phases(scenario: &Scenario, trace: &Trace) -> Vec<Judgement> {
    let mut before = None;
    scenario
        .phases()
        .into_iter()
        .map(|(from, to)| {
            let judgement = phase(scenario, trace, from, to, before);
            before = Some(judgement.capacity);
            judgement
        })
        .collect()
}

fn phase(scenario: &Scenario, trace: &Trace, from: Duration, to: Duration, before: Option<f64>) -> Judgement {
    let samples: Vec<_> = trace
        .samples
        .iter()
        .filter(|sample| sample.at > from && sample.at <= to)
        .collect();
    let useful = scenario.flows[0].wanted;
    let useful = useful.map_or(f64::INFINITY, |wanted| f64::from(wanted) * 1e3);
    let capacity = scenario.path.available(from).min(useful);
    let level = |sample: &Sample| sample.flows[0].target() / sample.available.min(useful);
    let within = |sample: &Sample| (level(sample) - 1.0).abs() <= scenario.claim.band;
    let down = before.is_some_and(|before| before > capacity);
    let allowed = if down { scenario.claim.down } else { scenario.claim.up };

    // From the end: the longest tail of which enough is within the band, and whose queue is never
    // long.
    let (mut good, mut settled) = (0, None);
    let short = samples.iter().rev().take_while(|sample| sample.queue <= QUEUE_MAX);
    for (seen, sample) in short.enumerate() {
        if within(sample) {
            good += 1;
            if f64::from(good) >= SETTLED * (seen + 1) as f64 {
                settled = Some(sample.at - from);
            }
        }
    }
    let after = from + settled.unwrap_or(allowed).min(allowed);
    let tail = samples.iter().filter(|sample| sample.at >= after);
    let due = samples.iter().filter(|sample| sample.at >= from + allowed);
    Judgement {
        from,
        before,
        capacity,
        settled,
        allowed,
        queue: tail.clone().map(|sample| sample.queue).max().unwrap_or_default(),
        level: mean(tail.map(|sample| level(sample))),
        within: mean(due.map(|sample| f64::from(u8::from(within(sample))))),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

/// The longest queue after the first five seconds; where flows share the link, once the last of
/// them has had the time to settle.
pub fn longest_queue(scenario: &Scenario, trace: &Trace) -> Duration {
    let last = scenario.flows.iter().map(|flow| flow.from).max().unwrap_or_default();
    let after = match scenario.kind {
        Kind::Shares => last + scenario.claim.up,
        Kind::Settles | Kind::Follows => Duration::from_secs(5),
    };
    let later = trace.samples.iter().filter(|sample| sample.at > after);
    later.map(|sample| sample.queue).max().unwrap_or_default()
}

/// The first flow's share of what two flows received over the last minute. Shape: 0 to 1.
pub fn share(trace: &Trace) -> Option<f64> {
    let last = trace.samples.last()?;
    let minute_ago = last.at.saturating_sub(Duration::from_secs(60));
    let first = trace.samples.iter().find(|sample| sample.at >= minute_ago)?;
    let got = |flow: usize| (last.flows[flow].received - first.flows[flow].received) as f64;
    (last.flows.len() == 2).then(|| got(0) / (got(0) + got(1)))
}

/// Whether neither of two flows got too little.
pub fn is_fair(share: f64) -> bool {
    (SHARE_MIN..=1.0 - SHARE_MIN).contains(&share)
}

/// Part of the samples within the claim's band of a capacity that moves, after the first two
/// seconds.
pub fn following(scenario: &Scenario, trace: &Trace) -> f64 {
    let judged = trace.samples.iter().filter(|sample| sample.at > Duration::from_secs(2));
    mean(judged.map(|sample| {
        let distance = (sample.flows[0].target() - sample.available).abs();
        f64::from(u8::from(distance <= scenario.claim.band * sample.available))
    }))
}
