//! Relaying in the kernel compared with the least possible work, each measured by a thread that
//! does nothing else.

use std::fmt::Write as _;

use harness::bars::{Bar, Drawing, Group, Panel};

use super::rounds::{how_often, in_rounds, steady};
use super::targets::{self, Target, target};
use super::{Experiment, Figures, Measured, Planned, Section, cell, names, spread};
use crate::compare::Options;
use crate::compare::subprocess::Job;
use crate::compare::targets::Targets;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "kernel",
    title: "In the kernel, beside the least there is",
    turns,
    section,
};

/// The relays in XDP, the subject first.
const RELAYS: [&str; 2] = ["weir-ebpf", "bare"];

const TARGETS: [Target; 1] = [target(RELAYS, 1.2, "relaying us/packet", |it| it.relaying_us())];

fn turns(targets: &Targets, options: &Options) -> Vec<Vec<Planned>> {
    let able = targets
        .entries
        .iter()
        .filter(|entry| RELAYS.contains(&entry.relay.name.as_str()));
    let polled = |job: &Job| Job {
        polled: true,
        ..job.clone()
    };
    let jobs = able.map(|entry| polled(&entry.job)).collect();
    in_rounds(jobs, options.rounds, steady(options))
}

fn section(all: &[Measured]) -> Section {
    targets::section(all, figures(all), &TARGETS, draw(all))
}

fn figures(all: &[Measured]) -> String {
    let mut text = String::from(
        "| relay | lost | relaying us/packet | of that its process | delay p50 us | p99 us | idle % |\n|---|---|---|---|---|---|---|\n",
    );
    for relay in names(all) {
        let figure = |figure: fn(&Figures<'_>) -> Option<f64>, digits| cell(spread(all, relay, figure), digits);
        let _ = writeln!(
            text,
            "| {relay} | {} | {} | {} | {} | {} | {} |",
            figure(|it| Some(it.outcome.packets.lost() as f64), 0),
            figure(|it| it.relaying_us(), 3),
            figure(|it| it.process_us(), 3),
            figure(|it| it.outcome.delay.at(0.5), 1),
            figure(|it| it.outcome.delay.at(0.99), 1),
            figure(|it| Some(it.outcome.machine.idle_share * 100.0), 0),
        );
    }
    text
}

fn draw(all: &[Measured]) -> String {
    let bar = |relay: &str| {
        Some(Bar {
            name: relay.to_owned(),
            spread: spread(all, relay, |it| it.relaying_us())?,
        })
    };
    Drawing {
        title: "In the kernel, beside the least there is".into(),
        panels: vec![Panel {
            label: "relaying, us a packet".into(),
            groups: vec![Group {
                label: how_often(all),
                bars: names(all).into_iter().filter_map(bar).collect(),
            }],
        }],
    }
    .svg()
}
