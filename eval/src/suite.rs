//! Runs of one server with their floors: the output of `make bench`.

use std::io;

use harness::RunningServer;

use crate::floor;
use crate::report::Report;
use crate::run::{RunError, Settings, run};

/// The settings of a suite.
pub struct Suite {
    /// The command that starts the server, separated by spaces; it is started again for each
    /// scenario. None: the server runs already.
    pub server_command: Option<Vec<String>>,
    /// Whether to measure the floor of each; crowds, in which most is silence, have none.
    pub floor: bool,
    /// The runs; with a command, the server's process is filled in.
    pub runs: Vec<Settings>,
}

impl Suite {
    /// Runs everything; `progress` is called with each report.
    pub fn run(&self, mut progress: impl FnMut(&Report)) -> Result<Vec<(Report, Option<Report>)>, RunError> {
        let mut reports = Vec::new();
        for settings in &self.runs {
            let mut settings = settings.clone();
            let scenario = settings.scenario;
            let server = self.start_server(&settings)?;
            if let Some(server) = &server {
                settings.server_pid = Some(server.pid());
            }
            let report = run(&settings).inspect_err(|_| {
                if let Some(server) = &server {
                    eprintln!("the server's output is in {}", server.log().display());
                }
            })?;
            if server.is_some_and(|mut server| server.has_ended()) {
                return Err(RunError::Machine(io::Error::other("the server ended during the run")));
            }
            progress(&report);
            let floor = if self.floor && !scenario.is_crowd() {
                let floor = floor::measure(scenario, &settings.behaviour, settings.window, &floor::Cable::default())?;
                progress(&floor);
                Some(floor)
            } else {
                None
            };
            reports.push((report, floor));
        }
        Ok(reports)
    }

    fn start_server(&self, settings: &Settings) -> Result<Option<RunningServer>, RunError> {
        let Some(command) = &self.server_command else {
            return Ok(None);
        };
        let log = std::env::temp_dir().join(format!("weir-bench-{}-{}.log", std::process::id(), settings.scenario));
        let server = RunningServer::start(command, settings.server.address(), log).map_err(RunError::Machine)?;
        Ok(Some(server))
    }
}
