//! How many calls a second can be set up, and how long each takes.

use std::fmt::Write as _;
use std::time::Duration;

use harness::curves::{Curve, Drawing, Panel, Scale};

use super::{Experiment, Measured, Planned, Section, names};
use crate::compare::Options;
use crate::compare::targets::Targets;
use crate::outcome::SetUp;
use crate::scene::{Between, Load};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "setup",
    title: "Setting calls up",
    turns,
    section,
};

/// Calls offered in a second.
const PACES: [u32; 5] = [125, 250, 500, 1_000, 2_000];
/// Limited, because a relay has four sockets for each call, and often no more than 20,000 are
/// allowed.
const SECONDS: u32 = 2;

fn turns(targets: &Targets, _: &Options) -> Vec<Vec<Planned>> {
    let controlled = targets
        .entries
        .iter()
        .filter(|entry| matches!(entry.job.between, Between::Relay { .. }));
    let planned = |entry: &crate::compare::targets::Entry| {
        let job = entry.job.clone();
        PACES.map(|per_second| Planned {
            job: job.clone(),
            round: 1,
            load: Load {
                calls: per_second * SECONDS,
                per_second,
                settle: None,
                window: Duration::ZERO,
                timeline: false,
            },
        })
    };
    vec![controlled.flat_map(planned).collect()]
}

fn section(all: &[Measured]) -> Section {
    Section {
        how: format!(
            "Calls offered at each pace for {SECONDS} s, an answer for each as soon as the offer is replied to; nobody talks"
        ),
        text: table(all) + &targets(all),
        drawing: draw(all),
    }
}

fn table(all: &[Measured]) -> String {
    let mut text = String::from(
        "| relay | offered/s | answered | of | answered/s | offer and answer p50 us | p99 us | offer p99 us | answer p99 us | asked again | its processors |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for measured in all {
        let relay = &measured.relay;
        let outcome = match &measured.found {
            Ok(outcome) => outcome,
            Err(why) => {
                let _ = writeln!(
                    text,
                    "| {relay} | {} | {why} | | | | | | | | |",
                    measured.load.per_second
                );
                continue;
            }
        };
        let it = &outcome.set_up;
        let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.0}"));
        let _ = writeln!(
            text,
            "| {relay} | {} | {} | {} | {:.0} | {} | {} | {} | {} | {} | {:.2} |",
            measured.load.per_second,
            outcome.established,
            outcome.calls,
            it.answered,
            number(it.both.at(0.5)),
            number(it.both.at(0.99)),
            number(it.offer.at(0.99)),
            number(it.answer.at(0.99)),
            it.repeats,
            it.relay_cores.unwrap_or(f64::NAN),
        );
    }
    text
}

/// Calls a second that have to be answered as they are offered.
const TARGET: u32 = 500;

fn targets(all: &[Measured]) -> String {
    let mut text = String::new();
    for relay in names(all) {
        let answered = |measured: &&Measured| {
            let outcome = measured.found.as_ref();
            measured.relay == relay && outcome.is_ok_and(|it| it.established == it.calls)
        };
        let most = all
            .iter()
            .filter(answered)
            .map(|measured| measured.load.per_second)
            .max();
        let most = most.unwrap_or(0);
        let _ = writeln!(
            text,
            "\n{relay}: every call answered at up to {most} a second (target: at least {TARGET})."
        );
    }
    text
}

fn draw(all: &[Measured]) -> String {
    let panel = |up: &str, figure: fn(&SetUp) -> Option<f64>| Panel {
        across: "calls offered in a second".into(),
        up: up.into(),
        scale: Scale::Linear,
        curves: names(all).into_iter().map(|relay| curve(all, relay, figure)).collect(),
    };
    Drawing {
        title: "Setting calls up".into(),
        panels: vec![
            panel("calls answered in a second", |it| Some(it.answered)),
            panel("offer and answer, p50, ms", |it| Some(it.both.at(0.5)? / 1e3)),
            panel("offer and answer, p99, ms", |it| Some(it.both.at(0.99)? / 1e3)),
            panel("processors of its process", |it| it.relay_cores),
        ],
    }
    .svg()
}

fn curve(all: &[Measured], relay: &str, figure: fn(&SetUp) -> Option<f64>) -> Curve {
    let its = all.iter().filter(|measured| measured.relay == relay);
    let point = |measured: &Measured| {
        let outcome = measured.found.as_ref().ok()?;
        Some((f64::from(measured.load.per_second), figure(&outcome.set_up)?))
    };
    Curve {
        name: relay.to_owned(),
        points: its.filter_map(point).collect(),
    }
}
