//! The servers that are here, each in its place, and the machine they are on.

use std::path::PathBuf;
use std::process::Command;

use super::config::{Configuration, Peer};
use super::place::{Place, shell};
use super::round::Job;
use super::{Options, PeersError};
use crate::measure::Machine;

/// Everything that takes part.
pub struct Field {
    /// The servers, the subject first.
    pub servers: Vec<Server>,
    /// Where the ideal server runs.
    floor: Place,
    /// Where servers' files and output go.
    pub folder: PathBuf,
    /// What to say of the machine, a line each.
    pub machine: Vec<String>,
    /// What is not here.
    pub missing: Vec<String>,
}

/// A server that is installed.
pub struct Server {
    /// Its entry in the file.
    pub peer: Peer,
    /// What it says of its version.
    pub version: String,
    program: PathBuf,
    place: Place,
}

impl Field {
    /// Finds out who is here, and makes a place for each.
    pub fn prepare(options: &Options) -> Result<Self, PeersError> {
        let configuration = Configuration::read(&options.configuration)?;
        let folder = std::env::temp_dir().join(&options.rig);
        std::fs::create_dir_all(&folder)?;
        let mut field = Self {
            servers: Vec::new(),
            floor: Place::create(&options.rig, "floor", 1)?,
            folder,
            machine: Vec::new(),
            missing: Vec::new(),
        };
        let (subject, mut others): (Vec<Peer>, Vec<Peer>) = configuration
            .peers
            .into_iter()
            .partition(|peer| peer.name == configuration.subject);
        others.retain(|peer| options.only.is_empty() || options.only.contains(&peer.name));
        for (number, peer) in subject.into_iter().chain(others).enumerate() {
            let place_number = number as u8 + 2;
            match peer.installed() {
                Some(program) => field
                    .servers
                    .push(Server::prepare(peer, program, options, place_number)?),
                None => {
                    let line = format!(
                        "{} is not installed: left out ({} names its program)",
                        peer.name, peer.variable
                    );
                    eprintln!("peers: {line}");
                    field.missing.push(line);
                }
            }
        }
        if field
            .servers
            .first()
            .is_none_or(|first| first.peer.name != configuration.subject)
        {
            return Err(PeersError::Unknown(format!(
                "{} itself is not built",
                configuration.subject
            )));
        }
        field.machine = describe_machine(&field.floor);
        Ok(field)
    }

    /// The measurement of a server.
    pub fn job(&self, server: &Server) -> Result<Job, PeersError> {
        let (peer, place) = (&server.peer, &server.place);
        let address = place.server().to_string();
        let folder = self.folder.join(&peer.name);
        std::fs::create_dir_all(&folder)?;
        peer.write_files(&address, &folder)?;
        let credentials = ["--api-key", &peer.key, "--api-secret", &peer.secret].map(String::from);
        let clients = peer.clients.split_whitespace().map(String::from);
        Ok(Job::Server {
            name: peer.name.clone(),
            place: place.words(),
            command: peer.command(&server.program, &address, &folder),
            address: (place.server(), peer.port).into(),
            clients: clients.chain(credentials).collect(),
        })
    }

    /// The measurement of the floor.
    pub fn floor(&self) -> Job {
        Job::Floor {
            place: self.floor.words(),
            server: self.floor.server(),
            clients: self.floor.clients(),
        }
    }

    /// A line about each server.
    pub fn versions(&self) -> impl Iterator<Item = String> {
        self.servers
            .iter()
            .map(|server| format!("{}: {}", server.peer.name, server.version))
    }
}

impl Server {
    fn prepare(peer: Peer, program: PathBuf, options: &Options, number: u8) -> Result<Self, PeersError> {
        let program = program.canonicalize()?;
        Ok(Self {
            version: version(&peer, &program),
            place: Place::create(&options.rig, &peer.name, number)?,
            program,
            peer,
        })
    }
}

/// What the program says of itself; nothing when it does not.
fn version(peer: &Peer, program: &PathBuf) -> String {
    let output = Command::new(program).args(peer.version.split_whitespace()).output();
    output.map_or_else(
        |_| String::new(),
        |output| {
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        },
    )
}

fn describe_machine(place: &Place) -> Vec<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|it| it.1));
    let said = |line: &str| shell(line).unwrap_or_default().trim().to_owned();
    vec![
        format!(
            "{} cores of {}",
            Machine::processors(),
            model.unwrap_or("an unknown processor")
        ),
        format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        format!(
            "tree {} of {}",
            said("git describe --always --dirty=+"),
            said("date -u +%F")
        ),
        format!("cables: {}", place.offloads()),
    ]
}
