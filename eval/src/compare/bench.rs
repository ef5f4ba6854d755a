//! The bench of measurements, and the jobs that it measures.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::RunningServer;
use serde::{Deserialize, Serialize};

use super::tester::LoadTest;
use crate::report::Report;

/// The bench: processors and a folder for output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bench {
    /// The processors of the server and of the generator, if they are to have their own.
    pub processors: Option<[String; 2]>,
    /// The folder for output.
    pub folder: PathBuf,
}

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Job {
    /// A server, started for it and stopped after it.
    Server {
        /// Its name.
        name: String,
        /// The words that put a command into its network.
        place: Vec<String>,
        /// The words that start it.
        command: Vec<String>,
        /// Its WebSocket address.
        address: SocketAddr,
        /// The generator's arguments for it.
        clients: Vec<String>,
    },
    /// A server under LiveKit's load tester in place of the generator.
    LoadTest {
        /// The server's own job.
        server: Box<Job>,
        /// The load.
        test: LoadTest,
    },
    /// The floor, which is the generator-only run too.
    Floor {
        /// The words that put a command into the ideal server's network.
        place: Vec<String>,
        /// Its address there.
        server: Ipv4Addr,
        /// The clients' address.
        clients: Ipv4Addr,
    },
}

impl Job {
    /// Its name in tables.
    pub fn name(&self) -> &str {
        match self {
            Self::Server { name, .. } => name,
            Self::LoadTest { test, .. } => &test.name,
            Self::Floor { .. } => FLOOR,
        }
    }
}

/// The name of the floor in tables.
pub(crate) const FLOOR: &str = "floor";

/// The result of a job: its report, or the reason that there is none.
pub(crate) type Outcome = Result<Report, String>;

impl Bench {
    /// Measures once.
    pub fn measure(&self, job: &Job, load: &[String]) -> Outcome {
        self.try_to_measure(job, load).map_err(|error| error.to_string())
    }

    fn try_to_measure(&self, job: &Job, load: &[String]) -> io::Result<Report> {
        match job {
            Job::Floor { place, server, clients } => {
                let pinned = [self.pinned(0), place.clone()].concat().join(" ");
                let cable = [
                    "--sender-place",
                    &pinned,
                    "--sender-ip",
                    &server.to_string(),
                    "--sinks-ip",
                    &clients.to_string(),
                ]
                .map(String::from);
                self.generate([&["floor".to_owned()], cable.as_slice()].concat(), load)
            }
            Job::LoadTest { server, test } => {
                let (mut server, address) = self.start(server)?;
                let report = test.perform(address, server.pid(), &self.folder)?;
                server.check()?;
                Ok(report)
            }
            Job::Server { name, clients, .. } => {
                let (mut server, address) = self.start(job)?;
                let (url, pid) = (format!("ws://{address}"), server.pid().to_string());
                let target = ["--name", name, "--url", &url, "--server-pid", &pid].map(String::from);
                let report = self.generate([target.as_slice(), clients].concat(), load);
                server.check()?;
                report
            }
        }
    }

    /// Starts the server of a job that has one of its own; returns it and its address.
    fn start(&self, job: &Job) -> io::Result<(RunningServer, SocketAddr)> {
        let Job::Server {
            name,
            place,
            command,
            address,
            ..
        } = job
        else {
            return Err(io::Error::other(format!("{} is no server", job.name())));
        };
        let words = [self.pinned(0).as_slice(), place, command].concat();
        let log = self.folder.join(format!("{name}.log"));
        Ok((RunningServer::start(&words, *address, log)?, *address))
    }

    /// Runs the generator in a process of its own, and reads its report.
    fn generate(&self, arguments: Vec<String>, load: &[String]) -> io::Result<Report> {
        let program = std::env::current_exe()?.display().to_string();
        let path = self.folder.join("report.json");
        let _ = std::fs::remove_file(&path);
        let json = ["--json".to_owned(), path.display().to_string()];
        let words = [self.pinned(1), vec![program], arguments, json.to_vec(), load.to_vec()].concat();
        let output = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .output()?;
        // It ends with a failure too when packets were lost: that is a result.
        read_report(&path).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            io::Error::other(said.trim().to_owned())
        })
    }

    fn pinned(&self, which: usize) -> Vec<String> {
        self.processors.as_ref().map_or_else(Vec::new, |processors| {
            vec!["taskset".into(), "-c".into(), processors[which].clone()]
        })
    }
}

fn read_report(path: &Path) -> io::Result<Report> {
    let reports: Vec<Report> = serde_json::from_slice(&std::fs::read(path)?)?;
    reports.into_iter().next().ok_or_else(|| io::Error::other("no report"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_failures_survive_the_way_between_processes() {
        let report = Report {
            target: "one".into(),
            replicas_received: 7,
            ..Report::default()
        };
        let outcomes: Vec<Outcome> = vec![Ok(report), Err("it did not listen".into())];
        let text = serde_json::to_string(&outcomes).expect("plain data");
        let read: Vec<Outcome> = serde_json::from_str(&text).expect("the outcomes were written");
        assert_eq!(read[0].as_ref().map(|report| report.replicas_received), Ok(7));
        assert_eq!(read[1].as_ref().err().map(String::as_str), Some("it did not listen"));
    }

    #[test]
    fn a_report_of_the_generator_is_read() {
        let path = std::env::temp_dir().join(format!("weir-compare-report-{}.json", std::process::id()));
        let reports = [Report::default()];
        std::fs::write(&path, serde_json::to_string_pretty(&reports).expect("plain data")).expect("written");
        assert_eq!(read_report(&path).map(|report| report.lost).ok(), Some(0));
        std::fs::write(&path, "[]").expect("written");
        assert!(read_report(&path).is_err());
        let _ = std::fs::remove_file(path);
    }
}
