//! All servers by turns under the same load.

use std::fmt::Write as _;

use super::bench::{Bench, FLOOR, Job, Outcome};
use super::compared::{ComparisonResult, Runs, draw, rows, tables};
use super::curves;
use super::document::{Section, conditions};
use super::experiment::{Case, Experiment};
use super::figures::Figures;
use super::round::{Round, Subprocess};
use super::targets::Targets;
use super::{CompareError, Options};
use crate::report::Report;

/// The default number of rounds.
pub(crate) const ROUNDS: u32 = 7;

/// Measures, and writes up.
pub(crate) fn measure(
    targets: &Targets,
    options: &Options,
    experiment: &Experiment,
    cases: &[Case],
) -> Result<Section, CompareError> {
    let wanted = |case: &&Case| options.cases.is_empty() || options.cases.iter().any(|name| name == case.name);
    let rounds = options.runs.unwrap_or(ROUNDS);
    let mut found = Vec::new();
    for case in cases.iter().filter(wanted) {
        found.push(measure_case(targets, options, case, rounds)?);
    }
    let mut text = conditions(
        targets,
        experiment,
        &format!("{rounds} alternating runs of {} s", options.seconds),
    );
    text.push_str(&tables(&found));
    Ok(Section {
        text,
        drawing: match experiment.is_distribution {
            true => curves::distribution(experiment.title(), &found),
            false => draw(experiment, &found).svg(),
        },
        runs: rows(experiment, &found),
        complete: found
            .iter()
            .flat_map(|found| &found.servers)
            .all(|runs| runs.failures.is_empty()),
    })
}

fn measure_case(
    targets: &Targets,
    options: &Options,
    case: &Case,
    rounds: u32,
) -> Result<ComparisonResult, CompareError> {
    let servers = targets
        .servers
        .iter()
        .take(if case.beside_others { usize::MAX } else { 1 });
    let mut jobs: Vec<Job> = servers.map(|server| targets.job(server)).collect::<Result<_, _>>()?;
    jobs.push(targets.floor());
    Ok(ComparisonResult {
        case: *case,
        servers: run_by_turns(targets, options, case, jobs, rounds)?,
    })
}

/// Measures the jobs round after round under this load.
pub(crate) fn run_by_turns(
    targets: &Targets,
    options: &Options,
    case: &Case,
    mut jobs: Vec<Job>,
    rounds: u32,
) -> Result<Vec<Runs>, CompareError> {
    let mut runs: Vec<Runs> = jobs.iter().map(|job| Runs::new(job.name())).collect();
    let mut left = rounds as usize;
    while left > 0 {
        let together = left.min(options.together.max(1) as usize);
        eprintln!("compare: {}, rounds to go: {left}", case.name);
        let round = Round {
            bench: Bench {
                processors: None,
                folder: targets.folder.clone(),
            },
            jobs: by_turns(&mut jobs, together),
            load: load(case.load, options),
        };
        let measured = round.jobs.clone();
        let outcomes: Vec<Outcome> = Subprocess::Round(round).order(&options.turn)?;
        for (jobs, outcomes) in measured.chunks(jobs.len()).zip(outcomes.chunks(jobs.len())) {
            take(&mut runs, jobs, outcomes);
        }
        left -= together;
    }
    Ok(runs)
}

/// Rounds of these jobs. The first job changes, so that periodic load of the machine meets every
/// job.
fn by_turns(jobs: &mut [Job], rounds: usize) -> Vec<Job> {
    let mut all = Vec::new();
    for _ in 0..rounds {
        all.extend_from_slice(jobs);
        jobs.rotate_left(1);
    }
    all
}

/// The generator's arguments; the scenario is last in `words`.
pub(crate) fn load(words: &str, options: &Options) -> Vec<String> {
    let (seconds, settle) = (options.seconds.to_string(), options.settle.to_string());
    let window = ["--seconds", &seconds, "--settle", &settle].map(String::from);
    window
        .into_iter()
        .chain(words.split_whitespace().map(String::from))
        .collect()
}

/// Adds a round's outcomes to the runs.
fn take(runs: &mut [Runs], jobs: &[Job], outcomes: &[Outcome]) {
    let by_name = || jobs.iter().map(Job::name).zip(outcomes);
    let floor = by_name().find(|(name, _)| *name == FLOOR);
    let generator_only: Option<&Report> = floor.and_then(|(_, outcome)| outcome.as_ref().ok());
    for (name, outcome) in by_name() {
        let Some(runs) = runs.iter_mut().find(|runs| runs.name == name) else {
            continue;
        };
        match outcome {
            Ok(report) => {
                let figures = Figures::of(report, generator_only);
                eprintln!("compare:   {name}: {}", line(&figures));
                runs.negotiated.clone_from(&report.negotiated);
                runs.figures.push(Some(figures));
            }
            Err(why) => {
                eprintln!("compare:   {name}: no measurement: {why}");
                runs.figures.push(None);
                runs.failures.push(why.clone());
            }
        }
    }
}

fn line(figures: &Figures) -> String {
    let mut text = format!(
        "{:.0} replicas/s, lost {}, p50 {:.0} p99 {:.0} us, process {:.2}, machine {:.2} us/replica, {:.0} % idle",
        figures.offered,
        figures.lost,
        figures.p50,
        figures.p99,
        figures.process_us,
        figures.machine_us.unwrap_or(f64::NAN),
        figures.idle * 100.0
    );
    for doubt in &figures.doubts {
        let _ = write!(text, "; {doubt}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Cost, Latency};

    fn report(cores: f64, busy_cores: f64, p50: f64) -> Report {
        let cost = |cores| Cost {
            cores,
            ..Cost::default()
        };
        Report {
            seconds: 1.0,
            packets_sent: 100,
            replicas_expected: 10_000,
            replicas_received: 10_000,
            latency: Latency {
                p50,
                p99: 2.0 * p50,
                ..Latency::default()
            },
            server: Some(cost(cores)),
            busy_cores,
            idle_share: 0.8,
            ..Report::default()
        }
    }

    fn server(name: &str) -> Job {
        Job::Server {
            name: name.into(),
            place: Vec::new(),
            command: Vec::new(),
            address: ([127, 0, 0, 1], 1).into(),
            clients: Vec::new(),
        }
    }

    fn floor() -> Job {
        Job::Floor {
            place: Vec::new(),
            server: [127, 0, 0, 1].into(),
            clients: [127, 0, 0, 1].into(),
        }
    }

    #[test]
    fn ratios_are_taken_round_by_round_in_any_order() {
        let mut jobs = vec![server("a"), server("b"), floor()];
        let mut runs: Vec<Runs> = jobs.iter().map(|job| Runs::new(job.name())).collect();
        let mut outcomes = vec![
            Ok(report(0.02, 0.05, 100.0)),
            Ok(report(0.10, 0.13, 400.0)),
            Ok(report(0.01, 0.03, 50.0)),
        ];
        take(&mut runs, &jobs, &outcomes);
        jobs.rotate_left(1);
        outcomes.rotate_left(1);
        outcomes[0] = Ok(report(0.20, 0.22, 300.0));
        take(&mut runs, &jobs, &outcomes);
        let ratio = runs[0].ratio(&runs[1], |it| it.machine_us).expect("both measured");
        assert!(
            (ratio.greatest - 3.0 / 11.0).abs() < 1e-9 && (ratio.least - 3.0 / 20.0).abs() < 1e-9,
            "{ratio:?}"
        );
        assert_eq!(runs[1].spread(|it| Some(it.p50)).map(|it| it.median), Some(350.0));
    }

    #[test]
    fn a_round_without_a_measurement_leaves_a_gap_and_a_note() {
        let jobs = vec![server("a"), server("b"), floor()];
        let mut runs: Vec<Runs> = jobs.iter().map(|job| Runs::new(job.name())).collect();
        let outcomes = vec![
            Ok(report(0.02, 0.05, 100.0)),
            Err("it did not listen".into()),
            Ok(report(0.01, 0.03, 50.0)),
        ];
        take(&mut runs, &jobs, &outcomes);
        assert_eq!(runs[0].ratio(&runs[1], |it| it.machine_us), None);
        let found = [ComparisonResult {
            case: Case {
                name: "1x2",
                load: "",
                beside_others: true,
            },
            servers: runs,
        }];
        let text = tables(&found);
        assert!(
            text.contains("| 1x2 | b | - | - |") && text.contains("- 1x2, b, no measurement: it did not listen"),
            "{text}"
        );
    }
}
