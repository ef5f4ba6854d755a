//! Measurements in a process of their own, which can wait for its turn at a machine that is shared.

use std::io;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::bench::{Bench, Job, Outcome};
use super::ramp::Ramp;

/// The work of one turn, as given to the process that does it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Subprocess {
    /// To measure all jobs under one load.
    Round(Round),
    /// To continue a search.
    Ramp(Ramp),
}

/// Jobs to measure, in this order, under one load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    /// The bench that it runs on.
    pub bench: Bench,
    /// The jobs to measure.
    pub jobs: Vec<Job>,
    /// The generator's arguments.
    pub load: Vec<String>,
}

impl Subprocess {
    /// Runs it in a process, started by the words of `turn` if the machine is shared by turns;
    /// returns its results.
    pub fn order<T: DeserializeOwned>(&self, turn: &[String]) -> io::Result<T> {
        let program = std::env::current_exe()?.display().to_string();
        let mut words = turn.to_vec();
        words.extend([program, "compare-subprocess".into(), serde_json::to_string(self)?]);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        serde_json::from_slice(&output.stdout).map_err(|_| io::Error::other("the measuring process failed"))
    }

    /// Performs it, in the process started for it; returns its results.
    pub fn perform(&self) -> serde_json::Result<String> {
        match self {
            Self::Round(round) => {
                let measure = |job| round.bench.measure(job, &round.load);
                serde_json::to_string::<Vec<Outcome>>(&round.jobs.iter().map(measure).collect())
            }
            Self::Ramp(ramp) => serde_json::to_string(&ramp.perform()),
        }
    }
}
