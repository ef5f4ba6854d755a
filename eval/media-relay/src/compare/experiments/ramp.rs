//! The load of the machine while calls arrive and then continue.

use std::fmt::Write as _;
use std::time::Duration;

use harness::curves::{Curve, Drawing, Panel, Scale};

use super::{Experiment, Measured, Planned, Section, names, notes};
use crate::compare::Options;
use crate::compare::targets::Targets;
use crate::outcome::LoadSample;
use crate::scene::Load;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "ramp",
    title: "While calls arrive",
    turns,
    section,
};

/// Calls offered in a second, as in the paper.
const PACE: u32 = 30;
/// Time after the last call, in seconds.
const AFTER: Duration = Duration::from_secs(10);

fn turns(targets: &Targets, options: &Options) -> Vec<Vec<Planned>> {
    let load = Load {
        calls: options.calls,
        per_second: PACE,
        settle: Some(Duration::from_secs(1)),
        window: AFTER,
        timeline: true,
    };
    let jobs = targets.entries.iter().map(|entry| &entry.job).chain([&targets.direct]);
    let planned = jobs.map(|job| Planned {
        job: job.clone(),
        round: 1,
        load,
    });
    vec![planned.collect()]
}

fn section(all: &[Measured]) -> Section {
    let calls = all.first().map_or(0, |measured| measured.load.calls);
    Section {
        how: format!(
            "{PACE} calls a second until there are {calls}, one run; processors are averages of half a second"
        ),
        text: table(all) + &notes(all),
        drawing: draw(all),
    }
}

fn table(all: &[Measured]) -> String {
    let mut text = String::from(
        "| relay | its process while calls arrive, processors at most | its process 8 s after the last | the machine 8 s after the last |\n|---|---|---|---|\n",
    );
    for measured in all {
        let Ok(outcome) = &measured.found else { continue };
        let up = |moment: &&LoadSample| moment.calls == outcome.calls;
        let last = outcome.timeline.iter().find(up).map_or(f64::MAX, |moment| moment.at);
        let late = outcome.timeline.iter().filter(|moment| moment.at > last + 8.0);
        let after: Vec<&LoadSample> = late.collect();
        let most = outcome.arriving_cores().unwrap_or(0.0);
        let mean = |figure: fn(&LoadSample) -> f64| {
            after.iter().map(|moment| figure(moment)).sum::<f64>() / after.len().max(1) as f64
        };
        let _ = writeln!(
            text,
            "| {} | {most:.3} | {:.3} | {:.3} |",
            measured.relay,
            mean(|moment| moment.relay_cores),
            mean(|moment| moment.busy_cores),
        );
    }
    text
}

fn draw(all: &[Measured]) -> String {
    let panel = |up: &str, figure: fn(&LoadSample) -> f64| Panel {
        across: "seconds since the first call".into(),
        up: up.into(),
        scale: Scale::Linear,
        curves: names(all).into_iter().map(|relay| curve(all, relay, figure)).collect(),
    };
    Drawing {
        title: "While calls arrive".into(),
        panels: vec![
            panel("processors of its process", |moment| moment.relay_cores),
            panel("processors of the machine", |moment| moment.busy_cores),
            panel("calls", |moment| f64::from(moment.calls)),
        ],
    }
    .svg()
}

fn curve(all: &[Measured], relay: &str, figure: fn(&LoadSample) -> f64) -> Curve {
    let its = all.iter().filter(|measured| measured.relay == relay);
    let moments = its
        .filter_map(|measured| measured.found.as_ref().ok())
        .flat_map(|outcome| &outcome.timeline);
    Curve {
        name: relay.to_owned(),
        points: moments.map(|moment| (moment.at, figure(moment))).collect(),
    }
}
