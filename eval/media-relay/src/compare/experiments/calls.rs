//! All relays by turns under the same calls: cost, delay, delay variation, loss, opinion.

use std::fmt::Write as _;

use rig::Spread;
use rig::curves::{Curve, Drawing, Panel, Scale};

use super::{Experiment, Figures, Measured, Planned, Section, cell, names, notes, spread};
use crate::compare::Options;
use crate::compare::errand::Job;
use crate::compare::field::Field;
use crate::outcome::{Distribution, Outcome, SHARES};
use crate::scene::Load;

pub const EXPERIMENT: Experiment = Experiment {
    name: "calls",
    title: "The same calls through each relay",
    turns,
    section,
};

/// Calls offered in a second.
const PACE: u32 = 100;

fn turns(field: &Field, options: &Options) -> Vec<Vec<Planned>> {
    let load = Load {
        calls: options.calls,
        per_second: PACE,
        settle: Some(options.settle),
        window: options.window,
        timeline: false,
    };
    let mut jobs: Vec<_> = field.entries.iter().map(|entry| &entry.job).collect();
    jobs.push(&field.direct);
    let round = |round: u32| {
        // Nobody is always the first: what the machine does by the clock meets everyone.
        let first = (round as usize - 1) % jobs.len();
        let mut jobs = jobs.clone();
        jobs.rotate_left(first);
        let planned = |job: &&Job| Planned {
            job: Job::clone(job),
            round,
            load,
        };
        jobs.iter().map(planned).collect()
    };
    (1..=options.rounds).map(round).collect()
}

fn section(all: &[Measured]) -> Section {
    let load = all.first().map(|measured| measured.load);
    let rounds = all.iter().map(|measured| measured.round).max().unwrap_or(0);
    let how = load.map_or_else(String::new, |load| {
        format!(
            "{} calls, {} packets a second, {rounds} alternating runs of {} s",
            load.calls,
            load.calls * 100,
            load.window.as_secs()
        )
    });
    Section {
        how,
        text: figures(all) + "\n" + &targets(all) + &notes(all),
        drawing: draw(all),
    }
}

fn figures(all: &[Measured]) -> String {
    let mut text = String::from(
        "| relay | lost | delay p50 us | p99 us | p99 added us | variation p99 us | jitter us | MOS, least | process us/packet | work us/packet | machine us/packet | instructions/packet | idle % |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for relay in names(all) {
        let figure = |figure: fn(&Figures<'_>) -> Option<f64>, digits| cell(spread(all, relay, figure), digits);
        let _ = writeln!(
            text,
            "| {relay} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            figure(|it| Some(it.outcome.packets.lost() as f64), 0),
            figure(|it| it.outcome.delay.at(0.5), 1),
            figure(|it| it.outcome.delay.at(0.99), 1),
            figure(|it| it.added_us(0.99), 1),
            figure(|it| it.outcome.variation.at(0.99), 1),
            figure(|it| Some(it.outcome.jitter), 1),
            figure(|it| it.outcome.score.at(0.001), 2),
            figure(|it| it.process_us(), 2),
            figure(|it| it.work_us(), 2),
            figure(|it| it.machine_us(), 2),
            figure(|it| it.instructions(), 0),
            figure(|it| Some(it.outcome.machine.idle_share * 100.0), 0),
        );
    }
    text
}

/// A bound on the ratio of two relays' figures.
struct Target {
    relays: [&'static str; 2],
    what: &'static str,
    most: f64,
    figure: fn(&Figures<'_>) -> Option<f64>,
}

const fn target(
    relays: [&'static str; 2],
    most: f64,
    what: &'static str,
    figure: fn(&Figures<'_>) -> Option<f64>,
) -> Target {
    Target {
        relays,
        what,
        most,
        figure,
    }
}

const EBPF: [&str; 2] = ["weir-ebpf", "rtpengine"];
const BARE: [&str; 2] = ["weir-ebpf", "bare"];
const USERSPACE: [&str; 2] = ["weir", "rtpengine"];
const RINGS: [&str; 2] = ["weir-afxdp", "rtpengine"];

const TARGETS: [Target; 13] = [
    target(EBPF, 0.125, "machine us/packet", |it| it.machine_us()),
    target(EBPF, 0.125, "work us/packet", |it| it.work_us()),
    target(EBPF, 0.125, "instructions/packet", |it| it.instructions()),
    target(BARE, 1.2, "machine us/packet", |it| it.machine_us()),
    target(BARE, 1.2, "work us/packet", |it| it.work_us()),
    target(BARE, 1.2, "instructions/packet", |it| it.instructions()),
    target(USERSPACE, 0.5, "machine us/packet", |it| it.machine_us()),
    target(USERSPACE, 0.5, "work us/packet", |it| it.work_us()),
    target(USERSPACE, 0.5, "instructions/packet", |it| it.instructions()),
    target(RINGS, 0.5, "machine us/packet", |it| it.machine_us()),
    target(RINGS, 0.5, "work us/packet", |it| it.work_us()),
    target(RINGS, 0.5, "instructions/packet", |it| it.instructions()),
    target(EBPF, 0.2, "p99 added delay", |it| it.added_us(0.99)),
];

fn targets(all: &[Measured]) -> String {
    let mut text = String::from("| ratio | of | target | found | |\n|---|---|---|---|---|\n");
    for target in &TARGETS {
        let [ours, theirs] = target.relays;
        let ratio = ratio(all, target.relays, target.figure);
        let verdict = verdict(ratio, target.most);
        let _ = writeln!(
            text,
            "| {ours} / {theirs} | {} | at most {} | {} | {verdict} |",
            target.what,
            target.most,
            cell(ratio, 3)
        );
    }
    text
}

/// What is true of every round, or that it is not.
fn verdict(ratio: Option<Spread>, most: f64) -> &'static str {
    match ratio {
        None => "not measured",
        Some(ratio) if ratio.greatest <= most => "met",
        Some(ratio) if ratio.least > most => "missed",
        Some(_) => "met in some rounds, missed in others",
    }
}

/// Ratios of two relays' figures, round by round.
fn ratio(all: &[Measured], relays: [&str; 2], figure: impl Fn(&Figures<'_>) -> Option<f64>) -> Option<Spread> {
    let of = |relay: &str, round: u32| {
        let measured = all.iter().find(|it| it.relay == relay && it.round == round)?;
        figure(&Figures::of(measured, all)?)
    };
    let rounds = 1..=all.iter().map(|measured| measured.round).max().unwrap_or(0);
    let ratios = rounds.filter_map(|round| Some(of(relays[0], round)? / of(relays[1], round)?));
    Spread::of(ratios.filter(|ratio| ratio.is_finite()))
}

fn draw(all: &[Measured]) -> String {
    let panel = |across: &str, scale, values: fn(&Outcome) -> &Distribution| Panel {
        across: across.into(),
        up: "share of all".into(),
        scale,
        curves: names(all).into_iter().map(|relay| curve(all, relay, values)).collect(),
    };
    Drawing {
        title: "The same calls through each relay".into(),
        panels: vec![
            panel("delay, us", Scale::Logarithmic, |it| &it.delay),
            panel("delay variation, us", Scale::Logarithmic, |it| &it.variation),
            panel("packets lost of a direction, %", Scale::Linear, |it| &it.loss),
            panel("mean opinion score of a direction", Scale::Linear, |it| &it.score),
        ],
    }
    .svg()
}

/// A distribution: at each share the median of all runs.
fn curve(all: &[Measured], relay: &str, values: fn(&Outcome) -> &Distribution) -> Curve {
    let at = |share: f64| {
        let value = spread(all, relay, |figures| values(figures.outcome).at(share))?;
        Some((value.median, share))
    };
    Curve {
        name: relay.to_owned(),
        points: SHARES.iter().filter_map(|&share| at(share)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::field::DIRECT;
    use crate::compare::figures::tests::measured;

    #[test]
    fn targets_are_judged_by_ratios_of_one_round() {
        let mut all = Vec::new();
        for round in 1..=3 {
            let noise = f64::from(round) * 0.1;
            all.push(measured(DIRECT, round, 200, 0.2 + noise, 10.0));
            all.push(measured("weir-ebpf", round, 200, 0.22 + noise, 15.0));
            all.push(measured("rtpengine", round, 200, 0.7 + noise, 110.0));
        }
        let text = targets(&all);
        assert!(
            text.contains("| weir-ebpf / rtpengine | machine us/packet | at most 0.125 | 0.040"),
            "{text}"
        );
        assert!(
            text.contains("| weir-ebpf / rtpengine | p99 added delay | at most 0.2 | 0.050 | met |"),
            "{text}"
        );
        assert!(
            text.contains("| weir / rtpengine | machine us/packet | at most 0.5 | - | not measured |"),
            "{text}"
        );
        let table = figures(&all);
        let last = table.lines().last().expect("rows");
        assert!(last.starts_with("| cable | 0 | 10.0 | 10.0 | 0.0 |"), "{table}");
    }
}
