//! The relays that are here, each in its place, and the machine they are on.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use harness::{Place, SERVER_INTERFACE, shell, software};

use super::config::{Configuration, Relay};
use super::subprocess::{Job, Server};
use super::{CompareError, Options};
use crate::phones::{Cables, Mac};
use crate::scene::Between;

/// The name of the run without a relay in tables.
pub(crate) const DIRECT: &str = "cable";
/// The ends of the cable between callers and callees.
const DIRECT_ENDS: [&str; 2] = ["caller0", "callee0"];
/// The number of the first relay's place.
const FIRST_PLACE: u8 = 2;
/// The phones' Ethernet address; no interface has it.
const PHONES: Mac = [0x02, 0x77, 0, 0, 0, 0x01];

/// Everything that takes part.
pub(crate) struct Targets {
    /// The relays, in the order of the file.
    pub entries: Vec<Entry>,
    /// A cable from callers to callees.
    pub direct: Job,
    /// Folder for relays' files and output.
    pub folder: PathBuf,
    /// Description of the machine and of versions, one line each.
    pub remarks: Vec<String>,
}

/// A relay that is installed.
pub(crate) struct Entry {
    /// Its entry in the file.
    pub relay: Relay,
    /// The job that measures it.
    pub job: Job,
    /// Goes with it.
    _place: Place,
}

impl Targets {
    /// Finds the installed relays, and makes a place for each.
    pub(crate) fn prepare(options: &Options) -> Result<Self, CompareError> {
        let folder = std::env::temp_dir().join(&options.namespaces);
        std::fs::create_dir_all(&folder)?;
        let mut remarks = software::describe_machine();
        let mut entries = Vec::new();
        for (relay, number) in Configuration::read(&options.configuration)?
            .relays
            .into_iter()
            .zip(FIRST_PLACE..)
        {
            if !options.only.is_empty() && !options.only.contains(&relay.name) {
                continue;
            }
            let Some(program) = relay.installed() else {
                let (name, variable) = (&relay.name, &relay.variable);
                remarks.push(format!(
                    "{name} is not installed: left out ({variable} names its program)"
                ));
                continue;
            };
            let program = program.canonicalize()?;
            remarks.push(format!(
                "{}: {}",
                relay.name,
                software::version(&program, &relay.version)
            ));
            let place = Place::create(&options.namespaces, &relay.name, number)?;
            let folder = folder.join(&relay.name);
            std::fs::create_dir_all(&folder)?;
            let address = place.server().to_string();
            relay.write_files(&address, &folder)?;
            // One processor is the relay's, as in the paper.
            let pinned = ["taskset", "-c", "0"].map(String::from).to_vec();
            let command = [pinned, place.words(), relay.command(&program, &address, &folder)].concat();
            let job = job(options, &relay, &place, number, command)?;
            entries.push(Entry {
                relay,
                job,
                _place: place,
            });
        }
        if entries.is_empty() {
            return Err(CompareError::Nobody);
        }
        Ok(Self {
            entries,
            direct: direct()?,
            folder,
            remarks,
        })
    }
}

/// Prepares a place for phones that have no sockets, and returns the job that measures the relay
/// there.
fn job(options: &Options, relay: &Relay, place: &Place, number: u8, command: Vec<String>) -> Result<Job, CompareError> {
    let namespace = format!("{}-{}", options.namespaces, relay.name);
    let other: Mac = [0x02, 0x77, 0, 0, number, 0xff];
    let addresses = phones(number);
    let inside = |line: String| shell(&format!("ip netns exec {namespace} {line}"));
    inside(format!("ip link set {SERVER_INTERFACE} address {}", written(other)))?;
    for address in addresses {
        // They answer no questions about where they are.
        inside(format!(
            "ip neighbour replace {address} lladdr {} dev {SERVER_INTERFACE} nud permanent",
            written(PHONES)
        ))?;
    }
    merge_on(&place.interface())?;
    Ok(Job {
        name: relay.name.clone(),
        cables: Cables {
            interfaces: [place.interface(), place.interface()],
            addresses,
            phones: PHONES,
            other,
        },
        between: match relay.control {
            Some(port) => Between::Relay {
                control: (place.server(), port).into(),
                proxy: place.clients().into(),
            },
            None => Between::Mirror(place.server()),
        },
        server: Some(Server { namespace, command }),
        polled: false,
    })
}

/// A cable from callers to callees, both ends here.
fn direct() -> Result<Job, CompareError> {
    let [callers, callees] = DIRECT_ENDS;
    shell(&format!("ip link add {callers} type veth peer name {callees}"))?;
    for end in DIRECT_ENDS {
        shell(&format!("ip link set {end} up"))?;
        merge_on(end)?;
    }
    Ok(Job {
        name: DIRECT.into(),
        cables: Cables {
            interfaces: DIRECT_ENDS.map(String::from),
            addresses: phones(FIRST_PLACE - 1),
            phones: PHONES,
            other: PHONES,
        },
        between: Between::Nothing,
        server: None,
        polled: false,
    })
}

/// Addresses of callers and callees: they differ in the last bit, which is all that the bare loop
/// uses.
fn phones(number: u8) -> [Ipv4Addr; 2] {
    [10, 11].map(|last| Ipv4Addr::new(198, 18, number, last))
}

/// Lets the interface accept packets that a program in XDP on the other end sends; a veth does so
/// only if it polls.
fn merge_on(interface: &str) -> Result<(), CompareError> {
    shell(&format!("ethtool -K {interface} gro on"))?;
    Ok(())
}

fn written(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
