//! The servers that are here, each in its place, and the machine they are on.

use std::path::PathBuf;
use std::rc::Rc;

use rig::{Place, software};

use super::config::{Configuration, Peer};
use super::round::{FLOOR, Job};
use super::{Options, PeersError};

/// The number of the first server's place; the floor's is the one before.
const FIRST_PLACE: u8 = 2;

/// Everything that takes part.
pub struct Field {
    /// The servers, the subject first.
    pub servers: Vec<Server>,
    /// The subject as searches know it.
    unpaced: Server,
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
#[derive(Clone)]
pub struct Server {
    /// Its entry in the file.
    pub peer: Peer,
    /// What it says of its version.
    pub version: String,
    program: PathBuf,
    place: Rc<Place>,
}

impl Field {
    /// Finds out who is here, and makes a place for each.
    pub fn prepare(options: &Options) -> Result<Self, PeersError> {
        let Configuration {
            subject,
            unpaced,
            peers,
        } = Configuration::read(&options.configuration)?;
        let folder = std::env::temp_dir().join(&options.rig);
        std::fs::create_dir_all(&folder)?;
        let place = |peer: &Peer, number| Place::create(&options.rig, &peer.name, number);
        let (mut servers, mut missing, mut searched) = (Vec::new(), Vec::new(), None);
        for (peer, number) in peers.into_iter().zip(FIRST_PLACE..) {
            let (is_subject, is_unpaced) = (peer.name == subject, peer.name == unpaced);
            let takes_part = is_subject || options.asks_for(&peer);
            let Some(program) = peer.installed() else {
                if takes_part {
                    missing.push(format!(
                        "{} is not installed: left out ({} names its program)",
                        peer.name, peer.variable
                    ));
                }
                continue;
            };
            let server = Server::prepare(&peer, program, place(&peer, number)?)?;
            match (is_subject, takes_part) {
                (true, _) => servers.insert(0, server.clone()),
                (_, true) => servers.push(server.clone()),
                _ => {}
            }
            searched = if is_unpaced { Some(server) } else { searched };
        }
        missing.iter().for_each(|line| eprintln!("peers: {line}"));
        let unbuilt = || PeersError::Unknown(format!("{subject} itself is not built"));
        if servers.first().is_none_or(|first: &Server| first.peer.name != subject) {
            return Err(unbuilt());
        }
        let floor = Place::create(&options.rig, FLOOR, FIRST_PLACE - 1)?;
        Ok(Self {
            unpaced: searched.ok_or_else(unbuilt)?,
            machine: described(&floor),
            servers,
            floor,
            folder,
            missing,
        })
    }

    /// The servers of a search: the subject as searches know it, then the others.
    pub fn searched(&self) -> impl Iterator<Item = &Server> {
        let others = self.servers.iter().skip(1);
        std::iter::once(&self.unpaced).chain(others.filter(|it| it.peer.name != self.unpaced.peer.name))
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
    fn prepare(peer: &Peer, program: PathBuf, place: Place) -> Result<Self, PeersError> {
        let program = program.canonicalize()?;
        Ok(Self {
            version: software::version(&program, &peer.version),
            peer: peer.clone(),
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
