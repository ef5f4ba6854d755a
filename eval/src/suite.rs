//! Runs of one server beside their floors: what `make bench` prints.

use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::clock;
use crate::floor;
use crate::report::Report;
use crate::run::{RunError, Settings, run};

/// What to run.
pub struct Suite {
    /// The command that starts the server, in words; it is started anew for each scenario. None: the server runs already.
    pub server_command: Option<Vec<String>>,
    /// Whether to measure the floor of each; crowds, in which most is silence, have none.
    pub floor: bool,
    /// The runs; with a command, the server's process is filled in.
    pub runs: Vec<Settings>,
}

/// How long a server may take to open its port.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// How long it may take to end when asked.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

impl Suite {
    /// Runs everything; `progress` hears of each report as it comes.
    pub fn run(&self, mut progress: impl FnMut(&Report)) -> Result<Vec<(Report, Option<Report>)>, RunError> {
        let mut reports = Vec::new();
        for settings in &self.runs {
            let mut settings = settings.clone();
            let scenario = settings.scenario;
            let server = self.start_server(&settings)?;
            if let Some(server) = &server {
                settings.server_pid = Some(server.child.id());
            }
            let report = run(&settings).inspect_err(|_| {
                if let Some(server) = &server {
                    eprintln!("the server's output is in {}", server.log.display());
                }
            })?;
            if server.is_some_and(|mut server| server.has_ended()) {
                return Err(RunError::Machine(io::Error::other("the server ended during the run")));
            }
            progress(&report);
            let floor = if self.floor && !scenario.is_crowd() {
                let floor = floor::measure(scenario, &settings.behaviour, settings.window)?;
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
        let (address, scenario) = (settings.server.address(), settings.scenario);
        let listens = || TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok();
        let refuse = |text: String| RunError::Machine(io::Error::other(text));
        if listens() {
            return Err(refuse(format!("another process listens on {address} already")));
        }
        let log = std::env::temp_dir().join(format!("weir-bench-{}-{scenario}.log", std::process::id()));
        let mut server = RunningServer::start(command, log).map_err(RunError::Machine)?;
        let began = clock::now();
        while !listens() {
            if began.elapsed() > START_TIMEOUT || server.has_ended() {
                let log = server.log.display();
                return Err(refuse(format!(
                    "the server does not listen on {address}; its output is in {log}"
                )));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(Some(server))
    }
}

/// A server that this suite started, and that ends with it.
struct RunningServer {
    child: Child,
    log: PathBuf,
}

impl RunningServer {
    fn start(command: &[String], log: PathBuf) -> io::Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| io::Error::other("an empty server command"))?;
        let out = File::create(&log)?;
        let child = Command::new(Path::new(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        Ok(Self { child, log })
    }
}

impl RunningServer {
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for RunningServer {
    /// Asks it to end, and insists.
    fn drop(&mut self) {
        // A process number fits: the kernel's are below 2^22.
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let began = clock::now();
        while began.elapsed() < STOP_TIMEOUT {
            if self.has_ended() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
