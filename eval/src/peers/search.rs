//! How many receivers of one publisher a server carries on one processor.

use std::fmt::Write as _;

use super::bars::{Bar, Drawing, Group, Panel};
use super::csv;
use super::document::{Section, conditions};
use super::experiment::{Climb, Experiment, Limit};
use super::field::{Field, Server};
use super::figures::{Doubt, Figures, strangers};
use super::round::Round;
use super::rounds::load;
use super::spread::Spread;
use super::{Options, PeersError};
use crate::measure::Machine;
use crate::report::Report;

/// More clients than this the generator does not make.
const RECEIVERS_MAX: u32 = 3_900;
/// The search ends when what fails is so little above what holds.
const CLOSE_ENOUGH: f64 = 1.1;
/// A failed step is tried again: one hiccup of the machine is no limit of a server.
const ATTEMPTS: u32 = 2;

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// Everything held.
    Holds,
    /// The server no longer served.
    Fails,
    /// The generator no longer kept up: what the server could do is not known.
    Unknown,
}

/// The most receivers that were served, and whether that was the server's limit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Top {
    receivers: u32,
    limited_by_server: bool,
}

/// One measurement on the way up.
struct Step {
    receivers: u32,
    figures: Option<Figures>,
    to_last_p99: f64,
    cores: f64,
    verdict: Verdict,
    why: String,
}

/// One server under one growing load.
struct Found {
    climb: Climb,
    server: String,
    negotiated: String,
    tops: Vec<Top>,
    steps: Vec<Step>,
}

/// Doubles from `first` until a step does not hold, then halves the ratio between what holds and what does not.
fn climb(first: u32, most: u32, mut step: impl FnMut(u32) -> Verdict) -> Top {
    let (mut holds, mut fails, mut limited_by_server) = (0, None, true);
    let mut next = first.min(most);
    while next > holds && fails != Some(next) {
        match step(next) {
            Verdict::Holds => holds = next,
            verdict => {
                fails = Some(next);
                limited_by_server = verdict == Verdict::Fails;
            }
        }
        next = match fails {
            None if holds == most => break,
            None => (holds * 2).min(most),
            Some(above) if f64::from(above) <= f64::from(holds.max(1)) * CLOSE_ENOUGH => break,
            Some(above) => (f64::from(above) * f64::from(holds.max(1))).sqrt().round() as u32,
        };
    }
    Top {
        receivers: holds,
        limited_by_server: limited_by_server && fails.is_some(),
    }
}

/// Measures, and writes up.
pub fn measure(
    field: &Field,
    options: &Options,
    experiment: &Experiment,
    climbs: &[Climb],
) -> Result<Section, PeersError> {
    let wanted = |it: &&Climb| options.cases.is_empty() || options.cases.iter().any(|name| name == it.name);
    let mut found = Vec::new();
    for climb in climbs.iter().filter(wanted) {
        for server in &field.servers {
            found.push(measure_server(field, options, climb, server)?);
        }
    }
    let how = format!(
        "One processor for the server, the rest for the generator; {} climbs, {} s a step",
        options.runs.unwrap_or(1),
        options.seconds
    );
    let mut text = conditions(field, &how);
    text.push_str(&tables(&found));
    Ok(Section {
        text,
        drawing: draw(experiment, &found).svg(),
        runs: rows(experiment, &found),
        complete: found.iter().all(|found| found.tops.iter().all(|top| top.receivers > 0)),
    })
}

fn measure_server(field: &Field, options: &Options, load: &Climb, server: &Server) -> Result<Found, PeersError> {
    let mut found = Found {
        climb: *load,
        server: server.peer.name.clone(),
        negotiated: String::new(),
        tops: Vec::new(),
        steps: Vec::new(),
    };
    for _ in 0..options.runs.unwrap_or(1) {
        let mut broken = None;
        let top = climb(load.first, RECEIVERS_MAX, |receivers| {
            let step = try_step(field, options, load, server, receivers, &mut found.negotiated);
            step.map_or_else(
                |error| {
                    broken = Some(error);
                    Verdict::Unknown
                },
                |step| {
                    let verdict = step.verdict;
                    found.steps.push(step);
                    verdict
                },
            )
        });
        if let Some(error) = broken {
            return Err(error);
        }
        found.tops.push(top);
    }
    Ok(found)
}

/// One step, repeated if it did not hold.
fn try_step(
    field: &Field,
    options: &Options,
    climb: &Climb,
    server: &Server,
    receivers: u32,
    negotiated: &mut String,
) -> Result<Step, PeersError> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let round = Round {
            jobs: vec![field.job(server)?],
            load: load(&format!("{} 1x{receivers}", climb.load), options),
            processors: Some(processors()),
            folder: field.folder.clone(),
        };
        let outcome = round.order(&options.turn)?.into_iter().next();
        let step = match outcome {
            Some(Ok(report)) => {
                negotiated.clone_from(&report.negotiated);
                judge(climb.limit, receivers, &report)
            }
            other => Step {
                receivers,
                figures: None,
                to_last_p99: 0.0,
                cores: 0.0,
                verdict: Verdict::Fails,
                why: other.and_then(Result::err).unwrap_or_default(),
            },
        };
        eprintln!("peers: {} {}: {}", climb.name, server.peer.name, line(&step));
        let holds = step.verdict == Verdict::Holds;
        last = Some(step);
        if holds {
            break;
        }
    }
    Ok(last.expect("at least one attempt"))
}

/// The last processor for the server, the others for the generator.
fn processors() -> [String; 2] {
    match Machine::processors() {
        0 | 1 => ["0".into(), "0".into()],
        2 => ["1".into(), "0".into()],
        many => [format!("{}", many - 1), format!("0-{}", many - 2)],
    }
}

fn judge(limit: Limit, receivers: u32, report: &Report) -> Step {
    let figures = Figures {
        doubts: strangers(report),
        ..Figures::of(report, None)
    };
    let (slowest, allowed) = match limit {
        Limit::Latency(us) => (report.latency.p99, us),
        Limit::ToLast(us) => (report.to_last.p99, us),
    };
    let deaf = figures
        .doubts
        .iter()
        .any(|doubt| matches!(doubt, Doubt::Deaf(_) | Doubt::Late(_)));
    let (verdict, why) = if report.lost == 0 && slowest <= allowed && !deaf {
        (Verdict::Holds, String::new())
    } else if deaf {
        (Verdict::Unknown, "the generator did not keep up".into())
    } else if report.lost > 0 {
        (Verdict::Fails, format!("{} lost", report.lost))
    } else {
        (Verdict::Fails, format!("{:.1} ms", slowest / 1e3))
    };
    Step {
        receivers,
        figures: Some(figures),
        to_last_p99: report.to_last.p99,
        cores: report.server.map_or(0.0, |server| server.cores),
        verdict,
        why,
    }
}

fn line(step: &Step) -> String {
    let (receivers, verdict, why) = (step.receivers, step.verdict, &step.why);
    let Some(it) = &step.figures else {
        return format!("{receivers} receivers, {verdict:?}: {why}");
    };
    let doubts: Vec<String> = it.doubts.iter().map(ToString::to_string).collect();
    format!(
        "{receivers} receivers, {:.0} replicas/s, {:.2} cores, p50 {:.0} p99 {:.0} us, to the last p99 {:.0} us, lost {}: {verdict:?} {why} {}",
        it.offered,
        step.cores,
        it.p50,
        it.p99,
        step.to_last_p99,
        it.lost,
        doubts.join("; ")
    )
}

impl Found {
    fn receivers(&self) -> Option<Spread> {
        Spread::of(self.tops.iter().map(|top| f64::from(top.receivers)))
    }

    /// The best step of all that held.
    fn best(&self) -> Option<(&Step, &Figures)> {
        let held = self.steps.iter().filter(|step| step.verdict == Verdict::Holds);
        held.filter_map(|step| Some((step, step.figures.as_ref()?)))
            .max_by_key(|(step, _)| step.receivers)
    }

    fn why(&self) -> String {
        let failed = self.steps.iter().filter(|step| step.verdict != Verdict::Holds);
        let least = failed.min_by_key(|step| step.receivers);
        least.map_or_else(
            || "nothing broke: the generator makes no more clients".into(),
            |step| format!("{}: {}", step.receivers, step.why),
        )
    }
}

fn tables(found: &[Found]) -> String {
    let mut text = String::from(
        "| load | server | receivers served | replicas/s there | p50 us | p99 us | to the last receiver p99 us | cores | what ended it |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for found in found {
        let receivers = found.receivers().map_or_else(|| "-".into(), |it| format!("{it:.0}"));
        let least = if found.tops.iter().all(|top| top.limited_by_server) {
            ""
        } else {
            "at least "
        };
        let there = found.best().map_or_else(
            || "- | - | - | - | -".into(),
            |(step, it)| {
                let (offered, p50, p99) = (it.offered, it.p50, it.p99);
                format!(
                    "{offered:.0} | {p50:.0} | {p99:.0} | {:.0} | {:.2}",
                    step.to_last_p99, step.cores
                )
            },
        );
        let (load, server, why) = (found.climb.name, &found.server, found.why());
        let _ = writeln!(text, "| {load} | {server} | {least}{receivers} | {there} | {why} |");
    }
    text.push('\n');
    for found in found.iter().filter(|found| !found.negotiated.is_empty()) {
        let _ = writeln!(text, "- {}, {}: {}", found.climb.name, found.server, found.negotiated);
    }
    text
}

fn draw(experiment: &Experiment, found: &[Found]) -> Drawing {
    let mut groups: Vec<Group> = Vec::new();
    for found in found {
        let Some(spread) = found.receivers() else { continue };
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
        label: "receivers served".into(),
        groups: vec![group],
    });
    Drawing {
        title: experiment.title.to_owned(),
        panels: panels.collect(),
    }
}

fn rows(experiment: &Experiment, found: &[Found]) -> String {
    let mut text = csv::header();
    for found in found {
        for (number, step) in found.steps.iter().enumerate() {
            let load = format!("{} 1x{}", found.climb.name, step.receivers);
            let key = [experiment.name, &load, &found.server];
            csv::row(&mut text, key, number + 1, step.figures.as_ref(), &found.negotiated);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_found_to_within_a_tenth() {
        for limit in [26, 100, 333, 2000] {
            let mut tried = Vec::new();
            let top = climb(25, 3900, |receivers| {
                tried.push(receivers);
                if receivers <= limit {
                    Verdict::Holds
                } else {
                    Verdict::Fails
                }
            });
            let (served, limit) = (f64::from(top.receivers), f64::from(limit));
            assert!(
                served <= limit && served * CLOSE_ENOUGH >= limit - 1.0,
                "{top:?} for {limit}"
            );
            assert!(top.limited_by_server && tried.len() < 14, "{tried:?}");
        }
    }

    #[test]
    fn a_search_ends_at_the_most_or_where_the_generator_gives_out() {
        let all = climb(100, 3900, |_| Verdict::Holds);
        assert_eq!((all.receivers, all.limited_by_server), (3900, false));
        let weak = climb(100, 3900, |receivers| {
            if receivers > 500 {
                Verdict::Unknown
            } else {
                Verdict::Holds
            }
        });
        assert!(weak.receivers > 450 && !weak.limited_by_server, "{weak:?}");
        assert_eq!(climb(25, 3900, |_| Verdict::Fails).receivers, 0);
    }

    #[test]
    fn what_is_lost_or_late_does_not_hold() {
        let report = |lost, p99| Report {
            lost,
            packets_sent: 100,
            latency: crate::report::Latency {
                p99,
                ..Default::default()
            },
            ..Report::default()
        };
        let verdict = |report: &Report| judge(Limit::Latency(5_000.0), 10, report).verdict;
        assert_eq!(verdict(&report(0, 4_000.0)), Verdict::Holds);
        assert_eq!(verdict(&report(1, 4_000.0)), Verdict::Fails);
        assert_eq!(verdict(&report(0, 6_000.0)), Verdict::Fails);
        let deaf = Report {
            dropped_at_clients: 1,
            ..report(1, 4_000.0)
        };
        assert_eq!(verdict(&deaf), Verdict::Unknown);
    }
}
