//! Cost, loss and opinion scores as calls are added, until each relay has the number in its file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use harness::curves::{Curve, Drawing, Panel, Scale};

use super::{Experiment, Figures, Measured, Planned, Section, names, notes};
use crate::compare::Options;
use crate::compare::targets::{DIRECT, Targets};
use crate::scene::Load;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "sessions",
    title: "More and more calls",
    turns,
    section,
};

/// How many calls, step by step, and which steps are measured in one turn.
const TURNS: [&[u32]; 6] = [&[50, 200], &[400, 800], &[1_000, 1_200], &[1_400], &[1_800], &[2_000]];
/// Calls offered in a second.
const PACE: u32 = 400;
/// The window of each step, at most.
const WINDOW_MAX: Duration = Duration::from_secs(5);

fn turns(targets: &Targets, options: &Options) -> Vec<Vec<Planned>> {
    let step = |calls: u32| {
        let load = Load {
            calls,
            per_second: PACE,
            settle: Some(options.settle),
            window: options.window.min(WINDOW_MAX),
            timeline: false,
        };
        let able = targets.entries.iter().filter(move |entry| entry.relay.most >= calls);
        let jobs = able.map(|entry| &entry.job).chain([&targets.direct]);
        let planned = jobs.map(move |job| Planned {
            job: job.clone(),
            round: 1,
            load,
        });
        planned.collect::<Vec<_>>()
    };
    let turn = |steps: &&[u32]| steps.iter().flat_map(|&calls| step(calls)).collect();
    TURNS.iter().map(turn).collect()
}

fn section(all: &[Measured]) -> Section {
    let window = all.first().map_or(0, |measured| measured.load.window.as_secs());
    let (judged, beyond) = within_generator(all);
    let judged = judged.as_slice();
    Section {
        how: format!(
            "One run of {window} s at each number of calls{}{}",
            limits(all),
            cable_limit(&beyond)
        ),
        text: table(judged) + &saturation(judged) + &targets(judged) + &notes(judged),
        drawing: draw(judged),
    }
}

/// The measurements under loads that the cable alone carries, and the numbers of calls of the
/// others. The generator has reached its own limit there, so they say nothing of a relay.
fn within_generator(all: &[Measured]) -> (Vec<Measured>, BTreeSet<u32>) {
    let cables = all.iter().filter(|measured| measured.relay == DIRECT);
    let lost = cables.filter(|it| Figures::of(it, all).is_none_or(|figures| figures.loss() >= SATURATED));
    let beyond: BTreeSet<u32> = lost.map(|it| it.load.calls).collect();
    let is_judged = |it: &&Measured| !beyond.contains(&it.load.calls);
    (all.iter().filter(is_judged).cloned().collect(), beyond)
}

fn cable_limit(beyond: &BTreeSet<u32>) -> String {
    match beyond.first() {
        Some(calls) => {
            format!("; with {calls} calls the cable alone loses packets, so nothing is said of relays there")
        }
        None => String::new(),
    }
}

/// The relays that were measured with fewer calls, for the page: the limit is that of their file,
/// not their capacity.
fn limits(all: &[Measured]) -> String {
    let most = |relay: &str| {
        let its = all.iter().filter(|measured| measured.relay == relay);
        its.map(|measured| measured.load.calls).max()
    };
    let farthest = all.iter().map(|measured| measured.load.calls).max();
    let mut text = String::new();
    for relay in names(all).into_iter().filter(|&relay| most(relay) < farthest) {
        let _ = write!(text, "; {relay} is not given more than {}", most(relay).unwrap_or(0));
    }
    text
}

fn table(all: &[Measured]) -> String {
    let mut text = String::from(
        "| calls | relay | lost % | delay p50 us | p99 us | MOS, median | MOS, least | work us/packet | machine us/packet | instructions/packet | processors | idle % |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let number =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"));
    for measured in all.iter().filter(|measured| measured.relay != DIRECT) {
        let Some(it) = Figures::of(measured, all) else { continue };
        let _ = writeln!(
            text,
            "| {} | {} | {:.3} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |",
            measured.load.calls,
            measured.relay,
            it.loss(),
            number(it.outcome.delay.at(0.5), 0),
            number(it.outcome.delay.at(0.99), 0),
            number(it.outcome.score.at(0.5), 2),
            number(it.outcome.score.at(0.001), 2),
            number(it.work_us(), 2),
            number(it.machine_us(), 2),
            number(it.instructions(), 0),
            number(it.work_cores(), 2),
            it.outcome.machine.idle_share * 100.0,
        );
    }
    text
}

/// The share of lost packets from which on a relay is saturated, in percent: less than the paper's
/// relay loses at the number of calls that it is said to carry.
const SATURATED: f64 = 0.1;

/// The most calls that each relay carries on its processor before it loses packets.
fn saturation(all: &[Measured]) -> String {
    let mut text = format!("\nThe most calls on one processor with less than {SATURATED} % of packets lost:\n\n");
    for relay in names(all).into_iter().filter(|&relay| relay != DIRECT) {
        let its = all.iter().filter(|measured| measured.relay == relay);
        let mut steps: Vec<(u32, Option<f64>)> = its
            .map(|it| (it.load.calls, Figures::of(it, all).map(|figures| figures.loss())))
            .collect();
        steps.sort_by_key(|(calls, _)| *calls);
        let is_held = |(_, loss): &&(u32, Option<f64>)| loss.is_some_and(|loss| loss < SATURATED);
        let held = steps.iter().take_while(is_held).count();
        let most = held.checked_sub(1).map_or(0, |last| steps[last].0);
        let _ = match steps.get(held) {
            Some((calls, Some(loss))) => writeln!(text, "- {relay}: {most} calls; with {calls} it loses {loss:.2} %"),
            Some((calls, None)) => writeln!(text, "- {relay}: {most} calls; {calls} could not be measured"),
            None => writeln!(text, "- {relay}: {most} calls, the most that were tried"),
        };
    }
    text
}

/// The load that the subject has to carry without losing a packet.
const TARGET: (&str, u32) = ("weir-ebpf", 2_000);

fn targets(all: &[Measured]) -> String {
    let (relay, calls) = TARGET;
    let run = all.iter().find(|it| it.relay == relay && it.load.calls == calls);
    let said = run.and_then(|run| Figures::of(run, all)).map_or_else(
        || "not measured".into(),
        |it| {
            format!(
                "{} of {} packets lost",
                it.outcome.packets.lost(),
                it.outcome.packets.sent
            )
        },
    );
    format!("\n{relay} with {calls} calls: {said} (target: none).\n")
}

fn draw(all: &[Measured]) -> String {
    let panel = |up: &str, figure: fn(&Figures<'_>) -> Option<f64>| Panel {
        across: "calls".into(),
        up: up.into(),
        scale: Scale::Linear,
        curves: names(all)
            .into_iter()
            .filter(|&relay| relay != DIRECT)
            .map(|relay| curve(all, relay, figure))
            .collect(),
    };
    Drawing {
        title: "More and more calls".into(),
        panels: vec![
            panel("processors for relaying", |it| it.work_cores()),
            panel("delay p99, ms", |it| Some(it.outcome.delay.at(0.99)? / 1e3)),
            panel("packets lost, %", |it| Some(it.loss())),
            panel("mean opinion score, median", |it| it.outcome.score.at(0.5)),
        ],
    }
    .svg()
}

fn curve(all: &[Measured], relay: &str, figure: fn(&Figures<'_>) -> Option<f64>) -> Curve {
    let its = all.iter().filter(|measured| measured.relay == relay);
    let points =
        its.filter_map(|measured| Some((f64::from(measured.load.calls), figure(&Figures::of(measured, all)?)?)));
    Curve {
        name: relay.to_owned(),
        points: points.collect(),
    }
}
