//! How much a server carries on one processor.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use harness::Spread;
use harness::bars::{Bar, Drawing, Group, Panel};

use super::bench::{Bench, Outcome};
use super::csv;
use super::curves;
use super::document::{Section, conditions};
use super::experiment::{Climb, Experiment, Limit, Unit};
use super::figures::{Figures, strangers};
use super::ramp::{Progress, Ramp, Verdict, judge};
use super::round::Subprocess;
use super::rounds::load;
use super::targets::{Server, Targets};
use super::{CompareError, Options};
use crate::measure::Machine;
use crate::report::Quality;

/// Searches are for the server's limit: the generator's must lie above it.
const OPEN: [&str; 2] = ["--open-one-in", "64"];

/// One server under one growing load.
struct SearchResult {
    climb: Climb,
    server: String,
    negotiated: String,
    tops: Vec<Progress>,
    steps: Vec<Step>,
}

/// One measurement on the way up.
struct Step {
    count: u32,
    figures: Option<Figures>,
    to_last_p99: f64,
    cores: f64,
    /// Of the generator.
    generator: f64,
    first_room: Option<Quality>,
    verdict: Verdict,
}

/// Measures, and writes up.
pub(crate) fn measure(
    targets: &Targets,
    options: &Options,
    experiment: &Experiment,
    climbs: &[Climb],
) -> Result<Section, CompareError> {
    let wanted = |it: &&Climb| options.cases.is_empty() || options.cases.iter().any(|name| name == it.name);
    let mut found = Vec::new();
    for climb in climbs.iter().filter(wanted) {
        for server in targets.searched() {
            found.push(measure_server(targets, options, climb, server)?);
        }
    }
    let how = format!(
        "One processor for the server, the rest for the generator; searches {}, {} s a step",
        options.runs.unwrap_or(1),
        options.seconds
    );
    let mut text = conditions(targets, experiment, &how);
    text.push_str(&tables(&found));
    Ok(Section {
        text,
        drawing: draw(experiment, &found),
        runs: rows(experiment, &found),
        complete: found.iter().all(|found| found.tops.iter().all(|top| top.holds > 0)),
    })
}

fn measure_server(
    targets: &Targets,
    options: &Options,
    climb: &Climb,
    server: &Server,
) -> Result<SearchResult, CompareError> {
    let mut found = SearchResult {
        climb: *climb,
        server: server.entry.name.clone(),
        negotiated: String::new(),
        tops: Vec::new(),
        steps: Vec::new(),
    };
    for _ in 0..options.runs.unwrap_or(1) {
        let mut ramp = Ramp {
            bench: Bench {
                processors: Some(processors()),
                folder: targets.folder.clone(),
            },
            job: targets.job(server)?,
            load: [OPEN.map(String::from).to_vec(), load(climb.load, options)].concat(),
            by: climb.by,
            limit: climb.limit,
            progress: Progress::new(climb.first, climb.by.most()),
        };
        while ramp.progress.next().is_some() {
            let outcomes: Vec<(u32, Outcome)> = Subprocess::Ramp(ramp.clone()).order(&options.turn)?;
            ramp.take(&outcomes);
            outcomes.iter().for_each(|(count, outcome)| found.take(*count, outcome));
        }
        found.tops.push(ramp.progress);
    }
    Ok(found)
}

/// The last processor for the server, the others for the generator.
fn processors() -> [String; 2] {
    match Machine::processors() {
        0 | 1 => ["0".into(), "0".into()],
        2 => ["1".into(), "0".into()],
        many => [format!("{}", many - 1), format!("0-{}", many - 2)],
    }
}

impl Step {
    fn of(limit: Limit, count: u32, outcome: &Outcome) -> Self {
        let report = outcome.as_ref().ok();
        // A server's processor that is never idle is intended here.
        let figures = report.map(|report| Figures {
            doubts: strangers(report),
            ..Figures::of(report, None)
        });
        Self {
            count,
            figures,
            to_last_p99: report.map_or(0.0, |report| report.to_last.p99),
            cores: report
                .and_then(|report| report.server)
                .map_or(0.0, |server| server.cores),
            generator: report.map_or(0.0, |report| report.generator.cores),
            first_room: report.and_then(|report| report.first_room),
            verdict: judge(limit, outcome),
        }
    }

    fn cells(&self) -> csv::Step {
        csv::Step {
            cores: self.cores,
            to_last_p99: self.to_last_p99,
            first_room: self.first_room,
            verdict: match self.verdict {
                Verdict::Holds => "holds",
                Verdict::Fails(_) => "fails",
                Verdict::Unknown(_) => "unknown",
            },
        }
    }

    fn line(&self) -> String {
        let (count, verdict) = (self.count, &self.verdict);
        let Some(it) = &self.figures else {
            return format!("{count}: {verdict:?}");
        };
        let doubts: Vec<String> = it.doubts.iter().map(ToString::to_string).collect();
        format!(
            "{count}: {:.0} replicas/s, {:.2} cores (the generator {:.2}), p50 {:.0} p99 {:.0} us, to the last p99 {:.0} us, lost {}: {verdict:?} {}",
            it.offered,
            self.cores,
            self.generator,
            it.p50,
            it.p99,
            self.to_last_p99,
            it.lost,
            doubts.join("; ")
        )
    }
}

impl SearchResult {
    fn take(&mut self, count: u32, outcome: &Outcome) {
        let step = Step::of(self.climb.limit, count, outcome);
        eprintln!("compare: {} {}: {}", self.climb.name, self.server, step.line());
        if let Ok(report) = outcome {
            self.negotiated.clone_from(&report.negotiated);
        }
        self.steps.push(step);
    }

    fn served(&self) -> Option<Spread> {
        Spread::of(self.tops.iter().map(|top| f64::from(top.holds)))
    }

    /// The first room at the last attempt of each step that the generator kept up with, by the
    /// number of participants.
    fn first_rooms(&self) -> curves::Steps {
        let is_known = |step: &&Step| !matches!(step.verdict, Verdict::Unknown(_));
        let known = self.steps.iter().filter(is_known);
        let seen = known.filter_map(|step| Some((self.climb.by.participants(step.count), step.first_room?)));
        seen.collect()
    }

    /// Cost of a replica and latency to the last receiver at the last attempt of each step that the
    /// generator kept up with, by the number of receivers.
    fn growth(&self) -> BTreeMap<u32, [f64; 2]> {
        let is_known = |step: &&Step| !matches!(step.verdict, Verdict::Unknown(_));
        let known = self.steps.iter().filter(is_known);
        let measured =
            known.filter_map(|step| Some((step.count, [step.figures.as_ref()?.process_us, step.to_last_p99])));
        measured.collect()
    }

    /// The best step of all that held.
    fn best(&self) -> Option<(&Step, &Figures)> {
        let held = self.steps.iter().filter(|step| step.verdict == Verdict::Holds);
        held.filter_map(|step| Some((step, step.figures.as_ref()?)))
            .max_by_key(|(step, _)| step.count)
    }

    /// The reason that the search ended.
    fn why(&self) -> String {
        let top = self.tops.iter().map(|top| top.holds).max().unwrap_or(0);
        let failed = self.steps.iter().filter(|step| step.count > top);
        match failed.min_by_key(|step| step.count) {
            None => "nothing: the generator makes no more clients".into(),
            Some(step) => match &step.verdict {
                Verdict::Fails(why) | Verdict::Unknown(why) => format!("{}: {why}", step.count),
                Verdict::Holds => String::new(),
            },
        }
    }
}

fn tables(found: &[SearchResult]) -> String {
    let mut text = String::from(
        "| load | server | served | replicas/s there | p50 us | p99 us | to the last receiver p99 us | first room | cores | what ended it |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for found in found {
        let served = found.served().map_or_else(|| "-".into(), |it| format!("{it:.0}"));
        let known = found.tops.iter().all(Progress::is_the_servers_limit);
        let least = if known { "" } else { "at least " };
        let there = found.best().map_or_else(
            || "- | - | - | - | - | -".into(),
            |(step, it)| {
                let (offered, p50, p99) = (it.offered, it.p50, it.p99);
                let seen = step.first_room.unwrap_or_default();
                format!(
                    "{offered:.0} | {p50:.0} | {p99:.0} | {:.0} | {:.1} frames/s, jitter {:.1} ms | {:.2}",
                    step.to_last_p99, seen.frames_per_second, seen.jitter_ms, step.cores
                )
            },
        );
        let (load, by, server, why) = (found.climb.name, found.climb.by.name(), &found.server, found.why());
        let _ = writeln!(text, "| {load} | {server} | {least}{served} {by} | {there} | {why} |");
    }
    text.push('\n');
    for found in found.iter().filter(|found| !found.negotiated.is_empty()) {
        let _ = writeln!(text, "- {}, {}: {}", found.climb.name, found.server, found.negotiated);
    }
    text
}

fn draw(experiment: &Experiment, found: &[SearchResult]) -> String {
    if found.iter().all(|it| matches!(it.climb.limit, Limit::FirstRoom(..))) {
        let steps: Vec<_> = found.iter().map(|it| (it.server.clone(), it.first_rooms())).collect();
        return curves::first_room(experiment.title(), &steps);
    }
    let is_growth = |it: &SearchResult| it.climb.by == Unit::Receivers && matches!(it.climb.limit, Limit::ToLast(_));
    if found.iter().all(is_growth) {
        let servers = |load: &[SearchResult]| load.iter().map(|it| (it.server.clone(), it.growth())).collect();
        let loads: Vec<_> = found
            .chunk_by(|a, b| a.climb.name == b.climb.name)
            .map(|load| curves::Growth {
                load: load[0].climb.name,
                servers: servers(load),
            })
            .collect();
        return curves::growth(experiment.title(), &loads);
    }
    let mut groups: Vec<Group> = Vec::new();
    for found in found {
        let Some(spread) = found.served() else { continue };
        let bar = Bar {
            name: found.server.clone(),
            spread,
        };
        match groups.iter_mut().find(|group| group.label == found.climb.name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group {
                label: found.climb.name.to_owned(),
                bars: vec![bar],
            }),
        }
    }
    let panels = groups.into_iter().map(|group| Panel {
        label: "served".into(),
        groups: vec![group],
    });
    let panels = panels.collect();
    let title = experiment.title();
    Drawing { title, panels }.svg()
}

fn rows(experiment: &Experiment, found: &[SearchResult]) -> String {
    let mut text = csv::step_header();
    for found in found {
        for (number, step) in found.steps.iter().enumerate() {
            let load = format!("{} {}", found.climb.name, found.climb.by.scenario(step.count));
            let key = [experiment.name, &load, &found.server];
            let figures = (step.figures.as_ref(), &step.cells());
            csv::step(&mut text, key, number + 1, figures, &found.negotiated);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    #[test]
    fn the_table_has_the_served_load_and_the_reason_for_the_end() {
        let mut found = SearchResult {
            climb: Climb {
                name: "2 Mbit/s",
                load: "",
                by: Unit::Receivers,
                first: 10,
                limit: Limit::Latency(5_000.0),
            },
            server: "weir".into(),
            negotiated: String::new(),
            tops: Vec::new(),
            steps: Vec::new(),
        };
        let mut progress = Progress::new(10, 20);
        for (count, lost) in [(10, 0), (20, 7)] {
            let report = Report {
                lost,
                packets_sent: 100,
                seconds: 1.0,
                replicas_expected: 4_000,
                ..Report::default()
            };
            found.take(count, &Ok(report));
            progress.note(count, &found.steps[found.steps.len() - 1].verdict);
        }
        found.tops.push(progress);
        let text = tables(&[found]);
        assert!(
            text.contains("| 2 Mbit/s | weir | 10 receivers | 4000 |") && text.contains("| 20: 7 lost |"),
            "{text}"
        );
    }
}
