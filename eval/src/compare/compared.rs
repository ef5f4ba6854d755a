//! Results of all rounds, as tables, as a drawing, and run by run.

use std::fmt::Write as _;

use harness::Spread;
use harness::bars::{Bar, Drawing, Group, Panel};

use super::csv;
use super::experiment::{Case, Experiment};
use super::figures::Figures;

/// Results of all rounds under one load.
pub(crate) struct ComparisonResult {
    /// The load.
    pub case: Case,
    /// The servers, the subject first.
    pub servers: Vec<Runs>,
}

/// One server's runs.
#[derive(Default)]
pub(crate) struct Runs {
    /// Its name.
    pub name: String,
    /// The protocol and the profile that clients negotiated with it.
    pub negotiated: String,
    /// By round; none where there was no measurement.
    pub figures: Vec<Option<Figures>>,
    /// Why there was none.
    pub failures: Vec<String>,
}

impl Runs {
    /// A server without runs.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn measured(&self) -> impl Iterator<Item = &Figures> {
        self.figures.iter().flatten()
    }

    /// One figure over all runs.
    pub(crate) fn spread(&self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.measured().filter_map(figure))
    }

    /// The ratios of this server's figure to another's, round by round.
    pub(crate) fn ratio(&self, other: &Self, figure: impl Fn(&Figures) -> Option<f64>) -> Option<Spread> {
        let rounds = self.figures.iter().zip(&other.figures);
        let both = rounds.filter_map(|(ours, theirs)| Some((figure(ours.as_ref()?)?, figure(theirs.as_ref()?)?)));
        Spread::of(
            both.filter(|(_, theirs)| *theirs > 0.0)
                .map(|(ours, theirs)| ours / theirs),
        )
    }
}

/// The figures, and the ratios of the subject's to the others'.
pub(crate) fn tables(found: &[ComparisonResult]) -> String {
    let mut text = String::from(
        "| load | server | replicas/s offered | lost | p50 us | p99 us | process us/replica | machine us/replica | idle % | runs to be trusted |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for found in found {
        found.servers.iter().for_each(|runs| row(&mut text, &found.case, runs));
    }
    text.push_str("\n| load | ratio | process | machine | p50 | p99 |\n|---|---|---|---|---|---|\n");
    for found in found {
        let Some((subject, others)) = found.servers.split_first() else {
            continue;
        };
        for other in others {
            let ratio = |figure: fn(&Figures) -> Option<f64>| cell(subject.ratio(other, figure), 2);
            let _ = writeln!(
                text,
                "| {} | {} / {} | {} | {} | {} | {} |",
                found.case.name,
                subject.name,
                other.name,
                ratio(|it| Some(it.process_us)),
                ratio(|it| it.machine_us),
                ratio(|it| Some(it.p50)),
                ratio(|it| Some(it.p99)),
            );
        }
    }
    text.push('\n');
    notes(&mut text, found);
    text
}

fn row(text: &mut String, case: &Case, runs: &Runs) {
    let spread = |figure: fn(&Figures) -> Option<f64>, digits| cell(runs.spread(figure), digits);
    let trusted = runs.measured().filter(|figures| figures.doubts.is_empty()).count();
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {trusted} of {} |",
        case.name,
        runs.name,
        runs.spread(|it| Some(it.offered))
            .map_or_else(|| "-".into(), |it| format!("{:.0}", it.median)),
        spread(|it| Some(it.lost as f64), 0),
        spread(|it| Some(it.p50), 0),
        spread(|it| Some(it.p99), 0),
        spread(|it| Some(it.process_us), 2),
        spread(|it| it.machine_us, 2),
        spread(|it| Some(it.idle * 100.0), 0),
        runs.figures.len(),
    );
}

pub(crate) fn cell(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(|| "-".into(), |it| format!("{it:.digits$}"))
}

/// Notes on negotiated forms, failures and doubts.
pub(crate) fn notes(text: &mut String, found: &[ComparisonResult]) {
    let mut lines: Vec<String> = Vec::new();
    for (found, runs) in found
        .iter()
        .flat_map(|found| found.servers.iter().map(move |runs| (found, runs)))
    {
        let negotiated = format!("{}: {}", runs.name, runs.negotiated);
        if !runs.negotiated.is_empty() && !lines.contains(&negotiated) {
            lines.push(negotiated);
        }
        let failed = runs.failures.iter().map(|why| format!("no measurement: {why}"));
        let doubts = runs.measured().flat_map(|figures| &figures.doubts);
        let doubted = doubts.map(|doubt| format!("not to be trusted: {doubt}"));
        lines.extend(
            failed
                .chain(doubted)
                .map(|why| format!("{}, {}, {why}", found.case.name, runs.name)),
        );
    }
    lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
}

/// The costs and latencies as bars.
pub(crate) fn draw(experiment: &Experiment, found: &[ComparisonResult]) -> Drawing {
    let panel = |label: &str, figure: fn(&Figures) -> Option<f64>| Panel {
        label: label.to_owned(),
        groups: found
            .iter()
            .map(|found| Group {
                label: found.case.name.to_owned(),
                bars: found
                    .servers
                    .iter()
                    .filter_map(|runs| {
                        let spread = runs.spread(figure)?;
                        Some(Bar {
                            name: runs.name.clone(),
                            spread,
                        })
                    })
                    .collect(),
            })
            .collect(),
    };
    Drawing {
        title: experiment.title(),
        panels: vec![
            panel("machine, us per replica", |it| it.machine_us),
            panel("latency p50, us", |it| Some(it.p50)),
            panel("latency p99, us", |it| Some(it.p99)),
        ],
    }
}

/// All runs.
pub(crate) fn rows(experiment: &Experiment, found: &[ComparisonResult]) -> String {
    let mut text = csv::header();
    for found in found {
        for runs in &found.servers {
            for (number, figures) in runs.figures.iter().enumerate() {
                let key = [experiment.name, found.case.name, &runs.name];
                csv::row(&mut text, key, number + 1, figures.as_ref(), &runs.negotiated);
            }
        }
    }
    text
}
