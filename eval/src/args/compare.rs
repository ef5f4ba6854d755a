use std::path::PathBuf;

use clap::Args;
use eval::compare::{self, EXPERIMENTS, Experiment};

/// A comparison of servers.
#[derive(Args)]
pub(crate) struct CompareArguments {
    /// The experiments: video, video-awake, audio, audio-awake, floor, paced, paced-awake, heavy,
    /// two-party, conferences, capacity, hd, rooms, load-test.
    #[arg(required = true, value_parser = experiment)]
    pub experiments: Vec<&'static Experiment>,
    /// Only the load with this name; may be given several times.
    #[arg(long = "load")]
    pub cases: Vec<String>,
    /// Only this server beside the subject; may be given several times.
    #[arg(long)]
    pub only: Vec<String>,
    /// Rounds, 7 by default; for searches climbs, 1 by default.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: Option<u32>,
    /// The measured window of each run.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
    /// Seconds between the last join and the window: servers that estimate bandwidth have to have
    /// found enough.
    #[arg(long, default_value_t = 6)]
    pub settle: u64,
    /// Rounds that are measured in one turn at the machine.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub together: u32,
    /// The servers.
    #[arg(long, default_value = "eval/compare/servers.yaml")]
    pub servers: PathBuf,
    /// A command that runs another when the machine is free, put in front of each measurement.
    #[arg(long, env = "COMPARE_TURN", default_value = "")]
    pub turn: String,
    /// Prefix of the names of namespaces.
    #[arg(long, env = "COMPARE_NAMESPACES", default_value = "weir-compare", hide = true)]
    pub namespaces: String,
    /// The page to write the results into.
    #[arg(long, default_value = "docs/measured/performance.md")]
    pub page: PathBuf,
    /// Print the results, write nothing.
    #[arg(long)]
    pub dry: bool,
}

fn experiment(name: &str) -> Result<&'static Experiment, String> {
    let names = || EXPERIMENTS.iter().map(|experiment| experiment.name).collect::<Vec<_>>();
    Experiment::named(name).ok_or_else(|| format!("expected one of {}", names().join(", ")))
}

impl CompareArguments {
    /// The options of the comparison.
    pub(crate) fn options(&self) -> compare::Options {
        compare::Options {
            experiments: self.experiments.clone(),
            cases: self.cases.clone(),
            only: self.only.clone(),
            runs: self.runs,
            seconds: self.seconds,
            settle: self.settle,
            together: self.together,
            configuration: self.servers.clone(),
            turn: self.turn.split_whitespace().map(String::from).collect(),
            namespaces: self.namespaces.clone(),
            page: (!self.dry).then(|| self.page.clone()),
        }
    }
}
