//! All relays by turns under the same calls: cost, delay, delay variation, loss, opinion.

use std::fmt::Write as _;

use harness::curves::{Curve, Drawing, Panel, Scale};

use super::rounds::{in_rounds, steady};
use super::targets::{self, Target, target};
use super::{Experiment, Figures, Measured, Planned, Section, cell, names, spread};
use crate::compare::Options;
use crate::compare::targets::Targets;
use crate::outcome::{Distribution, Outcome, SHARES};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "calls",
    title: "The same calls through each relay",
    turns,
    section,
};

fn turns(targets: &Targets, options: &Options) -> Vec<Vec<Planned>> {
    let load = steady(options);
    let jobs = targets.entries.iter().map(|entry| &entry.job);
    in_rounds(jobs.chain([&targets.direct]).cloned().collect(), options.rounds, load)
}

fn section(all: &[Measured]) -> Section {
    targets::section(all, figures(all), &TARGETS, draw(all))
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
    use crate::compare::figures::tests::measured;
    use crate::compare::targets::DIRECT;

    #[test]
    fn targets_are_judged_by_ratios_of_one_round() {
        let mut all = Vec::new();
        for round in 1..=3 {
            let noise = f64::from(round) * 0.1;
            all.push(measured(DIRECT, round, 200, 0.2 + noise, 10.0));
            all.push(measured("weir-ebpf", round, 200, 0.22 + noise, 15.0));
            all.push(measured("rtpengine", round, 200, 0.7 + noise, 110.0));
        }
        let text = targets::judged(&all, &TARGETS);
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
