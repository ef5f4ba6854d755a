//! Compares relays: the same phones and the same calls, by turns, each relay in a network namespace
//! of its own.
//!
//! [`compare`] carries out the command line. An [`Experiment`] defines the measurements of each
//! turn and the section made of them. Each turn is a [`Subprocess`], done by a process of its own.
//! Results go to the terminal, to a table of all runs, to a drawing, and between the markers of a
//! page.

mod config;
mod csv;
mod error;
mod experiments;
mod figures;
mod subprocess;
mod targets;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::CompareError;
pub use experiments::{EXPERIMENTS, Experiment};
pub use subprocess::Subprocess;

use harness::page;

use experiments::Section;
use figures::{Figures, Measured};
use targets::Targets;

/// The relays and experiments to compare, and the page to write into.
#[derive(Clone, Debug)]
pub struct Options {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// Only relays with these names; all if empty.
    pub only: Vec<String>,
    /// Rounds, where there are rounds.
    pub rounds: u32,
    /// Calls, for experiments without a number of their own.
    pub calls: u32,
    /// The measured window.
    pub window: Duration,
    /// Between the last answer and the window.
    pub settle: Duration,
    /// The file of relays.
    pub configuration: PathBuf,
    /// Words in front of each turn's command, where the machine is shared by turns.
    pub turn: Vec<String>,
    /// Prefix of the names of this run's namespaces.
    pub namespaces: String,
    /// The page to write into; none: only the terminal.
    pub page: Option<PathBuf>,
}

/// Runs the requested measurements; returns whether all succeeded.
pub fn compare(options: &Options) -> Result<bool, CompareError> {
    let targets = Targets::prepare(options)?;
    targets.remarks.iter().for_each(|line| eprintln!("media-relay: {line}"));
    let mut complete = true;
    for experiment in &options.experiments {
        let measured = measure(&targets, options, experiment)?;
        complete &= measured.iter().all(|it| it.found.is_ok());
        let section = (experiment.section)(&measured);
        let conditions = page::paragraph(&format!("{}. {}.", section.how, targets.remarks.join("; ")));
        let text = format!("{conditions}{}", section.text);
        println!("## {}\n\n{text}", experiment.title);
        if let Some(page) = &options.page {
            write(experiment, &text, &section, &csv::table(&measured), page)?;
        }
    }
    Ok(complete)
}

/// Makes all measurements of an experiment, turn by turn.
fn measure(targets: &Targets, options: &Options, experiment: &Experiment) -> Result<Vec<Measured>, CompareError> {
    let turns = (experiment.turns)(targets, options);
    let mut all: Vec<Measured> = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        eprintln!(
            "media-relay: {}, turn {} of {}",
            experiment.name,
            number + 1,
            turns.len()
        );
        let subprocess = Subprocess {
            jobs: turn.iter().map(|planned| (planned.job.clone(), planned.load)).collect(),
            folder: targets.folder.clone(),
        };
        let found = subprocess.order(&options.turn)?;
        let begin = all.len();
        all.extend(turn.iter().zip(found).map(|(planned, found)| Measured {
            relay: planned.job.name.clone(),
            round: planned.round,
            load: planned.load,
            found,
        }));
        all[begin..]
            .iter()
            .for_each(|measured| eprintln!("media-relay:   {}", line(measured, &all)));
    }
    Ok(all)
}

fn line(measured: &Measured, all: &[Measured]) -> String {
    let (relay, load) = (&measured.relay, &measured.load);
    let head = format!("{relay}, {} calls at {}/s", load.calls, load.per_second);
    let Some(figures) = Figures::of(measured, all) else {
        let why = measured.found.as_ref().err().map_or("", String::as_str);
        return format!("{head}: no measurement: {why}");
    };
    let it = figures.outcome;
    let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let mut text = format!(
        "{head}: {} answered at {:.0}/s in p50 {:.0} p99 {:.0} us; ",
        it.established,
        it.set_up.answered,
        number(it.set_up.both.at(0.5)),
        number(it.set_up.both.at(0.99)),
    );
    if load.settle.is_some() {
        text.push_str(&format!(
            "lost {} of {}, delay p50 {:.1} p99 {:.1} us, process {:.2} work {:.2} machine {:.2} us {:.0} instructions/packet, MOS {:.2}, {:.0} % idle; ",
            it.packets.lost(),
            it.packets.sent,
            number(it.delay.at(0.5)),
            number(it.delay.at(0.99)),
            number(figures.process_us()),
            number(figures.work_us()),
            number(figures.machine_us()),
            number(figures.instructions()),
            number(it.score.at(0.5)),
            it.machine.idle_share * 100.0,
        ));
    }
    if let Some([relay, phones]) = it.relayed {
        text.push_str(&format!("the relay counted {relay}, phones {phones}; "));
    }
    let doubts = if load.settle.is_some() {
        figures.doubts()
    } else {
        Vec::new()
    };
    text.push_str(&it.failures.iter().cloned().chain(doubts).collect::<Vec<_>>().join("; "));
    text.trim_end_matches("; ").to_owned()
}

/// Writes the section into the page, and its drawing and table of runs beside it.
fn write(experiment: &Experiment, text: &str, section: &Section, runs: &str, page: &Path) -> Result<(), CompareError> {
    let folder = page.with_extension("");
    std::fs::create_dir_all(&folder)?;
    let (name, title) = (experiment.name, experiment.title);
    std::fs::write(folder.join(format!("{name}.svg")), &section.drawing)?;
    std::fs::write(folder.join(format!("{name}.csv")), runs)?;
    let beside = page.file_stem().unwrap_or_default().to_string_lossy();
    let body = format!("### {title}\n\n{text}\n![{title}]({beside}/{name}.svg)\n\n[All runs]({beside}/{name}.csv)\n");
    let before = std::fs::read_to_string(page)?;
    std::fs::write(
        page,
        harness::page::put(&before, &format!("media-relay: {name}"), &body),
    )?;
    Ok(())
}
