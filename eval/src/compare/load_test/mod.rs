//! Rounds in which LiveKit's own load tester is a client beside the generator, of the servers of
//! LiveKit's protocol.

mod table;

use harness::software;

use super::bench::Job;
use super::compared::ComparisonResult;
use super::document::{Section, conditions};
use super::experiment::{Experiment, Pair};
use super::rounds::{ROUNDS, run_by_turns};
use super::targets::{Server, Targets};
use super::tester::LoadTest;
use super::{CompareError, Options};

/// The load tester's program and the environment variable that names another.
const PROGRAM: (&str, &str) = ("lk", "LK");

/// A client that makes the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// The generator, whose sockets take a run of segments whole.
    Generator,
    /// The generator, whose sockets take each datagram by itself.
    Singly,
    /// The load tester.
    LoadTester,
}

impl Client {
    /// All of them, in the order of a round.
    pub(crate) const ALL: [Self; 3] = [Self::Generator, Self::Singly, Self::LoadTester];

    /// Its name in tables.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::Singly => "generator, single datagrams",
            Self::LoadTester => "lk",
        }
    }

    /// The name of a server's runs with this client.
    pub(crate) fn runs_of(self, server: &str) -> String {
        match self {
            Self::Generator => server.to_owned(),
            Self::Singly => format!("{server}, single"),
            Self::LoadTester => format!("{server}, lk"),
        }
    }
}

/// Measures, and writes up.
pub(crate) fn measure(
    targets: &Targets,
    options: &Options,
    experiment: &Experiment,
    pairs: &[Pair],
) -> Result<Section, CompareError> {
    let missing = || {
        CompareError::Unknown(format!(
            "{} is not installed ({} names its program)",
            PROGRAM.0, PROGRAM.1
        ))
    };
    let program = software::installed(PROGRAM.0, PROGRAM.1)
        .ok_or_else(missing)?
        .canonicalize()?;
    let servers: Vec<&Server> = targets.servers.iter().filter(|it| it.entry.speaks_livekit()).collect();
    let wanted = |pair: &&Pair| options.cases.is_empty() || options.cases.iter().any(|name| name == pair.case.name);
    let rounds = options.runs.unwrap_or(ROUNDS);
    let mut found = Vec::new();
    for pair in pairs.iter().filter(wanted) {
        let mut jobs = Vec::new();
        for &server in &servers {
            for client in Client::ALL {
                jobs.push(job(targets, options, (server, client), pair, &program)?);
            }
        }
        found.push(ComparisonResult {
            case: pair.case,
            servers: run_by_turns(targets, options, &pair.case, jobs, rounds)?,
        });
    }
    let names: Vec<&str> = servers.iter().map(|server| server.entry.name.as_str()).collect();
    let version = software::version(&program, "--version");
    let how = format!("{rounds} alternating runs of {} s; {version}", options.seconds);
    let text = conditions(targets, experiment, &how);
    Ok(Section {
        text: text + &table::tables(&found, &names),
        drawing: table::draw(experiment.title(), &found, &names),
        runs: table::rows(experiment, &found, &names),
        complete: found
            .iter()
            .flat_map(|found| &found.servers)
            .all(|runs| runs.failures.is_empty()),
    })
}

fn job(
    targets: &Targets,
    options: &Options,
    (server, client): (&Server, Client),
    pair: &Pair,
    program: &std::path::Path,
) -> Result<Job, CompareError> {
    let mut job = targets.job(server)?;
    let entry = &server.entry;
    if client == Client::LoadTester {
        return Ok(Job::LoadTest {
            server: Box::new(job),
            test: LoadTest {
                name: client.runs_of(&entry.name),
                program: program.to_owned(),
                credentials: [entry.key.clone(), entry.secret.clone()],
                arguments: pair.tester.split_whitespace().map(String::from).collect(),
                settle: options.settle,
                seconds: options.seconds,
            },
        });
    }
    if let Job::Server { name, clients, .. } = &mut job {
        *name = client.runs_of(&entry.name);
        if client == Client::Singly {
            clients.push("--single-datagrams".to_owned());
        }
    }
    Ok(job)
}
