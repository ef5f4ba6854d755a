//! The links everything is measured on.

use std::time::Duration;

use crate::flow::Spec;
use crate::link::Path;
use crate::{Capacity, Claim, Loss, Media};

/// A link, the flows on it, and their requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For the table and the plot's file.
    pub name: &'static str,
    /// The way there; the way back has its delay.
    pub path: Path,
    /// The flows.
    pub flows: Vec<Spec>,
    /// How long it is played.
    pub length: Duration,
    /// The requirements.
    pub claim: Claim,
    /// How it is judged.
    pub kind: Kind,
}

/// How a scenario is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By how soon the estimate settles in each stretch.
    Settles,
    /// By how much of the time it is near a capacity that moves.
    Follows,
    /// By the shares of two flows.
    Shares,
}

impl Scenario {
    /// One flow that takes all it may, 40 ms round trip, a queue of 500 ms.
    fn new(name: &'static str, capacity: Capacity, seconds: u64) -> Self {
        Self {
            name,
            path: Path {
                capacity,
                queue: Duration::from_millis(500),
                loss: Loss::None,
                delay: Duration::from_millis(20),
                jitter: Duration::ZERO,
                reordering: 0.0,
                stalls: None,
                cross: None,
            },
            flows: vec![spec(0)],
            length: Duration::from_secs(seconds),
            claim: Claim::NEAR,
            kind: Kind::Settles,
        }
    }

    fn round_trip(mut self, milliseconds: u64) -> Self {
        self.path.delay = Duration::from_millis(milliseconds) / 2;
        self.far_if(milliseconds > 100)
    }

    fn queue(mut self, milliseconds: u64) -> Self {
        self.path.queue = Duration::from_millis(milliseconds);
        self
    }

    fn loss(mut self, loss: Loss) -> Self {
        self.path.loss = loss;
        let (Loss::Random(mean) | Loss::Bursty { mean, .. }) = loss else {
            return self;
        };
        self.far_if(mean > 0.02)
    }

    fn far_if(mut self, far: bool) -> Self {
        if far {
            self.claim = Claim::FAR;
        }
        self
    }

    fn jitter(mut self, milliseconds: u64) -> Self {
        self.path.jitter = Duration::from_millis(milliseconds);
        self
    }

    fn reordering(mut self, part: f64) -> Self {
        self.path.reordering = part;
        self
    }

    /// A receiver that is short of processor time: its interval and greatest duration.
    fn stalls(mut self, every: u64, most: u64) -> Self {
        self.path.stalls = Some((Duration::from_millis(every), Duration::from_millis(most)));
        self
    }

    fn cross(mut self, cross: Capacity) -> Self {
        self.path.cross = Some(cross);
        self
    }

    fn media(mut self, media: Media) -> Self {
        self.flows[0].media = media;
        self
    }

    /// A wanted rate, of which less is sent by decision.
    fn wanted(mut self, kilobits: u32) -> Self {
        self.flows[0].wanted = Some(kilobits);
        self
    }

    /// Copied by a data plane that neither paces nor pads.
    fn unpaced(mut self) -> Self {
        self.flows[0].unpaced = true;
        self
    }

    fn feedback(mut self, milliseconds: u64, loss: f64) -> Self {
        self.flows[0].feedback = Duration::from_millis(milliseconds);
        self.flows[0].feedback_loss = loss;
        self
    }

    fn and(mut self, second: Spec) -> Self {
        self.flows.push(second);
        self.kind = Kind::Shares;
        self
    }

    fn follows(mut self) -> Self {
        self.kind = Kind::Follows;
        self
    }

    /// The phases in which the available rate is constant, as (from, to).
    pub fn phases(&self) -> Vec<(Duration, Duration)> {
        match &self.path.cross {
            Some(cross) => cross.phases(self.length),
            None => self.path.capacity.phases(self.length),
        }
    }
}

fn spec(second: u64) -> Spec {
    Spec {
        from: Duration::from_secs(second),
        media: Media::Elastic,
        farther: Duration::ZERO,
        feedback: Duration::from_millis(50),
        feedback_loss: 0.0,
        wanted: None,
        unpaced: false,
    }
}

/// All of them.
pub fn catalogue() -> Vec<Scenario> {
    [steady(), steps(), restless(), moving(), shared(), limited(), far()].concat()
}

fn steady() -> Vec<Scenario> {
    vec![
        Scenario::new("300 kbit/s", Capacity::constant(300), 40),
        Scenario::new("1 Mbit/s", Capacity::constant(1000), 40),
        Scenario::new("3 Mbit/s, RTT 100 ms", Capacity::constant(3000), 40).round_trip(100),
        Scenario::new("10 Mbit/s", Capacity::constant(10_000), 40),
    ]
}

fn steps() -> Vec<Scenario> {
    let down_and_up = || Capacity::constant(4000).then(25, 1000).then(50, 500).then(75, 2000);
    let small = || Capacity::constant(1200).then(25, 300).then(50, 1200);
    let large = || Capacity::constant(10_000).then(25, 2500).then(50, 10_000);
    vec![
        Scenario::new("4, 1, 0.5, 2 Mbit/s", down_and_up(), 100),
        Scenario::new("4, 1, 0.5, 2 Mbit/s, RTT 100 ms", down_and_up(), 100).round_trip(100),
        Scenario::new("4, 1, 0.5, 2 Mbit/s, queue 1 s", down_and_up(), 100).queue(1000),
        Scenario::new("4, 1, 0.5, 2 Mbit/s, queue 300 ms", down_and_up(), 100).queue(300),
        Scenario::new("1.2, 0.3, 1.2 Mbit/s", small(), 75),
        Scenario::new("1.2, 0.3, 1.2 Mbit/s, RTT 100 ms", small(), 75).round_trip(100),
        Scenario::new("10, 2.5, 10 Mbit/s", large(), 75),
        Scenario::new("10, 2.5, 10 Mbit/s, RTT 100 ms", large(), 75).round_trip(100),
    ]
}

fn restless() -> Vec<Scenario> {
    let steps = || Capacity::constant(3000).then(25, 1000).then(50, 3000);
    let burst = |mean| Loss::Bursty { mean, length: 8.0 };
    vec![
        Scenario::new("3, 1, 3 Mbit/s, RTT 10 ms", steps(), 75).round_trip(10),
        Scenario::new("3, 1, 3 Mbit/s, 1 % loss", steps(), 75).loss(Loss::Random(0.01)),
        Scenario::new("3, 1, 3 Mbit/s, 2 % loss, RTT 100 ms", steps(), 75)
            .loss(Loss::Random(0.02))
            .round_trip(100),
        Scenario::new("3, 1, 3 Mbit/s, 2 % bursty loss", steps(), 75).loss(burst(0.02)),
        Scenario::new("3, 1, 3 Mbit/s, jitter 5 ms", steps(), 75).jitter(5),
        Scenario::new("3, 1, 3 Mbit/s, jitter 15 ms", steps(), 75).jitter(15),
        Scenario::new("3, 1, 3 Mbit/s, 1 % reordered", steps(), 75).reordering(0.01),
        Scenario::new("3, 1, 3 Mbit/s, queue 50 ms", steps(), 75).queue(50),
        Scenario::new("3, 1, 3 Mbit/s, feedback 100 ms, 10 % lost", steps(), 75).feedback(100, 0.1),
    ]
}

fn moving() -> Vec<Scenario> {
    let slide = Capacity::constant(4000)
        .then(10, 4000)
        .slide(40, 1000)
        .then(50, 1000)
        .slide(80, 4000);
    let cross = Capacity::constant(0).then(25, 1500).then(50, 0);
    vec![
        Scenario::new("ramps 4 to 1 to 4 Mbit/s over 30 s each", slide, 90).follows(),
        Scenario::new("3 Mbit/s, cross traffic 1.5 Mbit/s", Capacity::constant(3000), 75).cross(cross),
    ]
}

fn shared() -> Vec<Scenario> {
    let farther = Spec {
        farther: Duration::from_millis(40),
        ..spec(0)
    };
    vec![
        Scenario::new("two flows, 2 Mbit/s", Capacity::constant(2000), 60).and(spec(0)),
        Scenario::new(
            "two flows, 2 Mbit/s, the second 20 s later",
            Capacity::constant(2000),
            80,
        )
        .and(spec(20)),
        Scenario::new(
            "two flows, 5 Mbit/s, the second 20 s later",
            Capacity::constant(5000),
            80,
        )
        .and(spec(20)),
        Scenario::new("two flows, 3 Mbit/s, RTT 40 and 120 ms", Capacity::constant(3000), 60).and(farther),
    ]
}

fn limited() -> Vec<Scenario> {
    let steps = || Capacity::constant(3000).then(25, 1000).then(50, 3000);
    let fall = || Capacity::constant(4000).then(25, 500).then(50, 4000);
    let drop = || Capacity::constant(4000).then(25, 1000).then(50, 4000);
    vec![
        Scenario::new("3, 1, 3 Mbit/s, layers of 0.15, 0.5, 1.7 Mbit/s", steps(), 75)
            .media(Media::Layers(vec![150, 500, 1700])),
        Scenario::new("4, 0.5, 4 Mbit/s, layers of 0.15, 0.4, 1.7 Mbit/s", fall(), 75)
            .media(Media::Layers(vec![150, 400, 1700])),
        Scenario::new(
            "4, 0.5, 4 Mbit/s, layers of 0.15, 0.4, 1.7 Mbit/s, busy receiver",
            fall(),
            75,
        )
        .media(Media::Layers(vec![150, 400, 1700]))
        .stalls(50, 20),
        Scenario::new("3, 1, 3 Mbit/s, busy receiver", steps(), 75).stalls(50, 20),
        Scenario::new(
            "4, 0.5, 4 Mbit/s, layers of 0.15, 0.4, 1.7 Mbit/s, receiver away",
            fall(),
            75,
        )
        .media(Media::Layers(vec![150, 400, 1700]))
        .stalls(2000, 250),
        Scenario::new("3, 1, 3 Mbit/s, layers of 0.15, 0.5, 1.7 Mbit/s, unpaced", steps(), 75)
            .media(Media::Layers(vec![150, 500, 1700]))
            .unpaced(),
        Scenario::new("2 Mbit/s, 0.5 Mbit/s sent", Capacity::constant(2000), 40).media(Media::AtMost(500)),
        Scenario::new("4, 1, 4 Mbit/s, 0.3 of 3 Mbit/s sent", drop(), 75)
            .media(Media::AtMost(300))
            .wanted(3000),
    ]
}

fn far() -> Vec<Scenario> {
    let steps = || Capacity::constant(3000).then(30, 1000).then(60, 3000);
    let burst = |mean| Loss::Bursty { mean, length: 8.0 };
    vec![
        Scenario::new("3, 1, 3 Mbit/s, RTT 300 ms", steps(), 90).round_trip(300),
        Scenario::new("3, 1, 3 Mbit/s, RTT 600 ms", steps(), 90).round_trip(600),
        Scenario::new("3, 1, 3 Mbit/s, 5 % loss", steps(), 90).loss(Loss::Random(0.05)),
        Scenario::new("3, 1, 3 Mbit/s, 10 % loss", steps(), 90).loss(Loss::Random(0.10)),
        Scenario::new("3, 1, 3 Mbit/s, 5 % bursty loss", steps(), 90).loss(burst(0.05)),
        Scenario::new("3, 1, 3 Mbit/s, 10 % bursty loss", steps(), 90).loss(burst(0.10)),
        Scenario::new("3, 1, 3 Mbit/s, RTT 300 ms, 5 % loss, jitter 15 ms", steps(), 90)
            .loss(Loss::Random(0.05))
            .round_trip(300)
            .jitter(15),
    ]
}
