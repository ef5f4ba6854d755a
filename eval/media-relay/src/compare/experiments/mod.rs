//! The experiments.

mod calls;
mod kernel;
mod ramp;
mod rounds;
mod sessions;
mod setup;
mod targets;

use harness::Spread;
use harness::page::list_entry;

use super::Options;
use super::figures::{Figures, Measured};
use super::subprocess::Job;
use super::targets::{DIRECT, Targets};
use crate::scene::Load;

/// A named set of measurements.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The question that it answers, for the page.
    pub title: &'static str,
    /// The measurements, turn by turn.
    pub(super) turns: fn(&Targets, &Options) -> Vec<Vec<Planned>>,
    /// Turns the measurements into a section of the page.
    pub(super) section: fn(&[Measured]) -> Section,
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All of them.
pub static EXPERIMENTS: [Experiment; 5] = [
    calls::EXPERIMENT,
    kernel::EXPERIMENT,
    sessions::EXPERIMENT,
    setup::EXPERIMENT,
    ramp::EXPERIMENT,
];

impl Experiment {
    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name)
    }
}

/// A measurement to be made.
pub(super) struct Planned {
    pub(super) job: Job,
    pub(super) round: u32,
    pub(super) load: Load,
}

/// The results of an experiment.
pub(super) struct Section {
    /// How often and how long.
    pub(super) how: String,
    /// Tables, as Markdown.
    pub(super) text: String,
    /// The drawing, as SVG.
    pub(super) drawing: String,
}

/// Every measured relay, in the order of the first round; the cable is last.
fn names(all: &[Measured]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for measured in all {
        if !names.contains(&measured.relay.as_str()) {
            names.push(&measured.relay);
        }
    }
    names.sort_by_key(|&name| name == DIRECT);
    names
}

/// The figures of one relay.
fn figures_of<'a>(all: &'a [Measured], relay: &'a str) -> impl Iterator<Item = Figures<'a>> + Clone {
    let its = all.iter().filter(move |measured| measured.relay == relay);
    its.filter_map(|measured| Figures::of(measured, all))
}

/// One figure over all of a relay's measurements.
fn spread(all: &[Measured], relay: &str, figure: impl Fn(&Figures<'_>) -> Option<f64>) -> Option<Spread> {
    Spread::of(figures_of(all, relay).filter_map(|figures| figure(&figures)))
}

fn cell(spread: Option<Spread>, digits: usize) -> String {
    spread.map_or_else(|| "-".into(), |it| format!("{it:.digits$}"))
}

/// Notes on failures and doubts.
fn notes(all: &[Measured]) -> String {
    let mut text = String::new();
    for measured in all {
        let (relay, calls, round) = (&measured.relay, measured.load.calls, measured.round);
        let why = match (&measured.found, Figures::of(measured, all)) {
            (Err(why), _) => format!("no measurement: {why}"),
            (_, Some(figures)) if !figures.doubts().is_empty() => {
                format!("not to be trusted: {}", figures.doubts().join("; "))
            }
            _ => continue,
        };
        text += &list_entry(&format!("{relay}, {calls} calls, round {round}: {why}"));
    }
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    text
}
