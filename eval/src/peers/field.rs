//! The servers that are here, each in its place, and the machine they are on.

use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;

use super::config::{Configuration, Peer};
use super::place::{Place, shell};
use super::round::{FLOOR, Job};
use super::{Options, PeersError};
use crate::measure::Machine;

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
            machine: describe_machine(&floor),
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
            version: version(peer, &program),
            peer: peer.clone(),
            place: Rc::new(place),
            program,
        })
    }
}

/// What the program says of itself, and when it was built: two trees may say the same.
fn version(peer: &Peer, program: &PathBuf) -> String {
    let output = Command::new(program).args(peer.version.split_whitespace()).output();
    let built = shell(&format!("date -u -r {} +%FT%R", program.display())).unwrap_or_default();
    let said = output.map_or_else(
        |_| String::new(),
        |output| {
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        },
    );
    format!("{said}, file of {}", built.trim())
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
