//! Plays a scenario in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use bandwidth::{Config, Estimate, Estimator, Gcc};

use crate::Scenario;
use crate::flow::Flow;
use crate::link::{Arrived, Link, Packet};
use crate::peer::RtcInterceptor;

/// The grain of time: a sender's timers are not finer.
const STEP: Duration = Duration::from_micros(250);
const SAMPLE: Duration = Duration::from_millis(50);
/// Cross traffic arrives in packets at uneven intervals. The remaining capacity is measured over
/// this time, within which an estimate has to follow.
const CROSSING: Duration = Duration::from_secs(2);
/// Settings of every estimator.
const CONFIG: Config = Config {
    start: 300_000,
    min: 50_000,
    max: 20_000_000,
};

/// The estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// Ours.
    Weir,
    /// `rtc-interceptor`'s.
    RtcInterceptor,
}

impl Candidate {
    fn estimator(self) -> Box<dyn Estimator> {
        match self {
            Candidate::Weir => Box::new(Gcc::new(CONFIG)),
            Candidate::RtcInterceptor => Box::new(RtcInterceptor::new(CONFIG)),
        }
    }
}

/// Samples, every 50 ms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// In order of time.
    pub samples: Vec<Sample>,
}

/// The state at one time. Shape: rates in bits per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Duration,
    /// Capacity left by cross traffic: lately, or from now on if its rate has just changed.
    pub available: f64,
    /// The longest wait in the queue since the last sample.
    pub queue: Duration,
    /// Packets the queue dropped so far.
    pub dropped: u64,
    /// Each flow's.
    pub flows: Vec<FlowSample>,
}

/// One flow at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// The estimate.
    pub estimate: Estimate,
    /// Bytes sent so far. Shape: bytes.
    pub sent: u64,
    /// Bytes that arrived so far.
    pub received: u64,
    /// Bytes of padding.
    pub padding: u64,
}

impl FlowSample {
    /// Its estimate. Shape: bits per second.
    pub fn target(&self) -> f64 {
        self.estimate.target as f64
    }
}

/// Plays `scenario` with an estimator of the candidate's for each flow.
pub fn run(scenario: &Scenario, candidate: Candidate, seed: u64) -> Trace {
    World::new(scenario, candidate, seed).play()
}

/// A packet on its way, ordered by when it arrives and then by when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Travelling {
    at: Duration,
    order: u64,
    flow: usize,
    number: u16,
    size: u16,
}

struct World<'a> {
    scenario: &'a Scenario,
    link: Link,
    flows: Vec<Flow>,
    /// Packets between the bottleneck and their receivers, the next to arrive first.
    travelling: BinaryHeap<Reverse<Travelling>>,
    order: u64,
    trace: Trace,
    queue: Duration,
    /// Bytes of cross traffic offered by the time of each sample.
    crossed: Vec<u64>,
}

impl<'a> World<'a> {
    #[allow(
        clippy::disallowed_methods,
        reason = "an epoch is needed; only differences to it are used"
    )]
    fn new(scenario: &'a Scenario, candidate: Candidate, seed: u64) -> Self {
        let epoch = Instant::now();
        let flow = |(index, spec): (usize, &crate::flow::Spec)| {
            Flow::new(
                index,
                spec.clone(),
                candidate.estimator(),
                epoch,
                seed * 31 + index as u64,
            )
        };
        Self {
            scenario,
            link: Link::new(scenario.path.clone(), seed),
            flows: scenario.flows.iter().enumerate().map(flow).collect(),
            travelling: BinaryHeap::new(),
            order: 0,
            trace: Trace::default(),
            queue: Duration::ZERO,
            crossed: Vec::new(),
        }
    }

    fn play(mut self) -> Trace {
        let (mut now, mut next_sample) = (Duration::ZERO, SAMPLE);
        let mut arrived = Vec::new();
        while now < self.scenario.length {
            for flow in &mut self.flows {
                flow.step(now, self.scenario.path.delay, &mut self.link);
            }
            now += STEP;
            self.link.step(now, &mut arrived);
            self.queue = self.queue.max(self.link.waited);
            arrived.drain(..).for_each(|arrived| self.travel(arrived));
            self.deliver(now);
            if now >= next_sample {
                next_sample += SAMPLE;
                self.sample(now);
            }
        }
        self.trace
    }

    fn travel(&mut self, Arrived { at, packet }: Arrived) {
        let Packet { flow, number, size, .. } = packet;
        self.order += 1;
        self.travelling.push(Reverse(Travelling {
            at: at + self.flows[flow].spec.farther,
            order: self.order,
            flow,
            number,
            size,
        }));
    }

    fn deliver(&mut self, now: Duration) {
        while let Some(Reverse(next)) = self.travelling.peek().copied()
            && next.at <= now
        {
            self.travelling.pop();
            self.flows[next.flow].receiver.arrived(next.at, next.number, next.size);
        }
    }

    fn available(&self, at: Duration) -> f64 {
        let path = &self.scenario.path;
        let samples = (CROSSING.as_millis() / SAMPLE.as_millis()) as usize;
        let (Some(newest), Some(before)) = (self.crossed.last(), self.crossed.iter().rev().nth(samples)) else {
            return path.available(at);
        };
        if path.available(at) != path.available(at - CROSSING) {
            return path.available(at);
        }
        path.capacity.at(at) - (newest - before) as f64 * 8.0 / CROSSING.as_secs_f64()
    }

    fn sample(&mut self, at: Duration) {
        let flows = self.flows.iter().map(|flow| FlowSample {
            estimate: flow.estimator.estimate(),
            sent: flow.sent_bytes,
            received: flow.receiver.bytes,
            padding: flow.padding_bytes,
        });
        self.crossed.push(self.link.crossed);
        self.trace.samples.push(Sample {
            at,
            available: self.available(at - STEP),
            queue: std::mem::take(&mut self.queue),
            dropped: self.link.dropped,
            flows: flows.collect(),
        });
    }
}
