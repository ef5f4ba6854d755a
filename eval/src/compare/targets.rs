//! The servers that are here, each in its place, and the machine they are on.

use std::path::PathBuf;
use std::rc::Rc;

use harness::{Place, software};

use super::bench::{FLOOR, Job};
use super::config::{Configuration, ServerEntry};
use super::{CompareError, Options};

/// The number of the first server's place; the floor's is the one before.
const FIRST_PLACE: u8 = 2;

/// Everything that takes part.
pub(crate) struct Targets {
    /// The servers, the subject first.
    pub servers: Vec<Server>,
    /// The subject as used in searches.
    unpaced: Server,
    /// The place of the ideal server.
    floor: Place,
    /// Folder for servers' files and output.
    pub folder: PathBuf,
    /// Description of the machine, one line each.
    pub machine: Vec<String>,
    /// Servers and tools that are not installed.
    pub missing: Vec<String>,
}

/// A server that is installed.
#[derive(Clone)]
pub(crate) struct Server {
    /// Its entry in the file.
    pub entry: ServerEntry,
    /// Its version, as it prints it.
    pub version: String,
    program: PathBuf,
    place: Rc<Place>,
}

impl Targets {
    /// Finds the installed servers, and makes a place for each.
    pub(crate) fn prepare(options: &Options) -> Result<Self, CompareError> {
        let Configuration {
            subject,
            unpaced,
            servers: entries,
        } = Configuration::read(&options.configuration)?;
        let folder = std::env::temp_dir().join(&options.namespaces);
        std::fs::create_dir_all(&folder)?;
        let place = |entry: &ServerEntry, number| Place::create(&options.namespaces, &entry.name, number);
        let (mut servers, mut missing, mut searched) = (Vec::new(), Vec::new(), None);
        for (entry, number) in entries.into_iter().zip(FIRST_PLACE..) {
            let (is_subject, is_unpaced) = (entry.name == subject, entry.name == unpaced);
            let takes_part = is_subject || options.asks_for(&entry);
            let Some(program) = entry.installed() else {
                if takes_part {
                    missing.push(format!(
                        "{} is not installed: left out ({} names its program)",
                        entry.name, entry.variable
                    ));
                }
                continue;
            };
            let server = Server::prepare(&entry, program, place(&entry, number)?)?;
            match (is_subject, takes_part) {
                (true, _) => servers.insert(0, server.clone()),
                (_, true) => servers.push(server.clone()),
                _ => {}
            }
            searched = if is_unpaced { Some(server) } else { searched };
        }
        missing.iter().for_each(|line| eprintln!("compare: {line}"));
        let unbuilt = || CompareError::Unknown(format!("{subject} itself is not built"));
        if servers.first().is_none_or(|first: &Server| first.entry.name != subject) {
            return Err(unbuilt());
        }
        let floor = Place::create(&options.namespaces, FLOOR, FIRST_PLACE - 1)?;
        Ok(Self {
            unpaced: searched.ok_or_else(unbuilt)?,
            machine: described(&floor),
            servers,
            floor,
            folder,
            missing,
        })
    }

    /// The servers of a search: the subject as used in searches, then the others.
    pub(crate) fn searched(&self) -> impl Iterator<Item = &Server> {
        let others = self.servers.iter().skip(1);
        std::iter::once(&self.unpaced).chain(others.filter(|it| it.entry.name != self.unpaced.entry.name))
    }

    /// The measurement of a server.
    pub(crate) fn job(&self, server: &Server) -> Result<Job, CompareError> {
        let (entry, place) = (&server.entry, &server.place);
        let address = place.server().to_string();
        let folder = self.folder.join(&entry.name);
        std::fs::create_dir_all(&folder)?;
        entry.write_files(&address, &folder)?;
        let credentials = ["--api-key", &entry.key, "--api-secret", &entry.secret].map(String::from);
        let clients = entry.clients.split_whitespace().map(String::from);
        Ok(Job::Server {
            name: entry.name.clone(),
            place: place.words(),
            command: entry.command(&server.program, &address, &folder),
            address: (place.server(), entry.port).into(),
            clients: clients.chain(credentials).collect(),
        })
    }

    /// The measurement of the floor.
    pub(crate) fn floor(&self) -> Job {
        Job::Floor {
            place: self.floor.words(),
            server: self.floor.server(),
            clients: self.floor.clients(),
        }
    }

    /// A line about each server.
    pub(crate) fn versions(&self) -> impl Iterator<Item = String> {
        self.servers
            .iter()
            .map(|server| format!("{}: {}", server.entry.name, server.version))
    }
}

impl Server {
    fn prepare(entry: &ServerEntry, program: PathBuf, place: Place) -> Result<Self, CompareError> {
        let program = program.canonicalize()?;
        Ok(Self {
            version: software::version(&program, &entry.version),
            entry: entry.clone(),
            place: Rc::new(place),
            program,
        })
    }
}

fn described(place: &Place) -> Vec<String> {
    let mut lines = software::describe_machine();
    lines.push(format!("cables: {}", place.offloads()));
    lines
}
