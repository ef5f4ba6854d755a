//! Compares servers: the same generator and the same rates, by turns, each server in a network
//! namespace of its own.
//!
//! [`compare`] carries out the command line. An [`Experiment`] is either rounds, in each of which
//! every server and the floor are measured once under the same load ([`rounds`]), or a search for
//! what one processor carries ([`search`]), or rounds with LiveKit's load tester as another client
//! ([`load_test`]). Each single measurement is made by a [`Subprocess`], in a process of its own.
//! Results go to the terminal, to a table of all runs, to a drawing, and
//! between the markers of a page ([`document`]).

mod bench;
mod compared;
mod config;
mod csv;
mod curves;
mod document;
mod error;
mod experiment;
mod figures;
mod load_test;
mod ramp;
mod round;
mod rounds;
mod search;
mod targets;
mod tester;

use std::path::PathBuf;

pub use error::CompareError;
pub use experiment::{EXPERIMENTS, Experiment};
pub use round::Subprocess;

use document::Section;
use experiment::Method;
use harness::software;
use targets::Targets;

/// The servers and experiments to compare, and the page to write into.
#[derive(Clone, Debug)]
pub struct Options {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// Only loads with these names; all if empty.
    pub cases: Vec<String>,
    /// Only servers with these names, and the subject; all if empty.
    pub only: Vec<String>,
    /// Rounds of each experiment, or climbs of each search.
    pub runs: Option<u32>,
    /// The measured window of each run in seconds.
    pub seconds: u64,
    /// Seconds between the last join and the window.
    pub settle: u64,
    /// Rounds that are measured in one turn at the machine.
    pub together: u32,
    /// The file of servers.
    pub configuration: PathBuf,
    /// Words in front of each measurement's command, where the machine is shared by turns.
    pub turn: Vec<String>,
    /// Prefix of the names of this run's namespaces.
    pub namespaces: String,
    /// The page to write into; none: only the terminal.
    pub page: Option<PathBuf>,
}

impl Options {
    /// Whether a server beside the subject takes part.
    fn asks_for(&self, entry: &config::ServerEntry) -> bool {
        self.only.contains(&entry.name) || (self.only.is_empty() && !entry.on_request)
    }

    /// A load of none of the experiments would replace a table by an empty one.
    fn refuse_unknown_loads(&self) -> Result<(), CompareError> {
        let loads: Vec<&str> = self
            .experiments
            .iter()
            .flat_map(|experiment| experiment.loads())
            .collect();
        match self.cases.iter().find(|name| !loads.contains(&name.as_str())) {
            Some(name) => Err(CompareError::Unknown(format!(
                "no load {name}; there are {}",
                loads.join(", ")
            ))),
            None => Ok(()),
        }
    }
}

/// Runs the requested measurements; returns whether every server could be measured under every
/// load.
pub fn compare(options: &Options) -> Result<bool, CompareError> {
    options.refuse_unknown_loads()?;
    let targets = Targets::prepare(options)?;
    let mut complete = true;
    for experiment in &options.experiments {
        let _awake = experiment.is_awake.then(software::keep_awake).transpose()?;
        let section = match experiment.method {
            Method::Rounds(cases) => rounds::measure(&targets, options, experiment, cases)?,
            Method::Search(climbs) => search::measure(&targets, options, experiment, climbs)?,
            Method::LoadTest(pairs) => load_test::measure(&targets, options, experiment, pairs)?,
        };
        println!("{}", section.text);
        complete &= section.complete;
        if let Some(page) = &options.page {
            write(&section, experiment, page)?;
        }
    }
    Ok(complete)
}

/// Writes the section into the page, and its drawing and table of runs beside it.
fn write(section: &Section, experiment: &Experiment, page: &std::path::Path) -> Result<(), CompareError> {
    let folder = page.with_extension("");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{}.svg", experiment.name)), &section.drawing)?;
    std::fs::write(folder.join(format!("{}.csv", experiment.name)), &section.runs)?;
    let text = std::fs::read_to_string(page)?;
    std::fs::write(page, section.put_into(&text, experiment, page))?;
    Ok(())
}
