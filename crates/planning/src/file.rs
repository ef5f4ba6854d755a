//! Device files.

use std::fmt;

use serde::Deserialize;

use crate::device::Device;
use crate::kind::Kind;
use crate::limits::CORES_MAX;
use crate::program::Program;
use crate::server::Server;
use crate::supply::Supply;

/// The device files that are shipped with the program.
pub const SHIPPED: [(&str, &str); 7] = [
    ("tofino2", include_str!("../devices/tofino2.yaml")),
    ("tofino2-65536", include_str!("../devices/tofino2-65536.yaml")),
    ("mediasoup", include_str!("../devices/mediasoup.yaml")),
    ("weir-udp", include_str!("../devices/weir-udp.yaml")),
    ("weir-afxdp", include_str!("../devices/weir-afxdp.yaml")),
    ("weir-ebpf", include_str!("../devices/weir-ebpf.yaml")),
    ("weir-p4", include_str!("../devices/weir-p4.yaml")),
];

/// A device, and the source of its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFile {
    /// Its name: that of the file.
    pub name: String,
    /// The publication or measurement that the numbers are from.
    pub source: String,
    /// Its limits.
    pub machine: Machine,
}

/// A switch or a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Machine {
    /// A switch with a packet-replication engine.
    Switch(Device),
    /// A switch with a P4 program.
    Program(Program),
    /// A software SFU.
    Server(Server),
}

/// The form of a device file, in YAML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    source: String,
    switch: Option<Device>,
    program: Option<Program>,
    server: Option<Server>,
}

/// The reason why a device file cannot be used.
#[derive(Debug)]
pub struct DeviceFileError(String);

impl fmt::Display for DeviceFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceFileError {}

impl DeviceFile {
    /// Reads a device file.
    ///
    /// Errors: the text is not of this form, or a limit cannot be one.
    pub fn parse(name: &str, text: &str) -> Result<Self, DeviceFileError> {
        let refuse = |reason: String| DeviceFileError(format!("{name}: {reason}"));
        let form: Form = serde_saphyr::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if form.source.trim().is_empty() {
            return Err(refuse(
                "`source:` has to name the publication or measurement that the numbers are from".into(),
            ));
        }
        let machine = match (form.switch, form.program, form.server) {
            (Some(device), None, None) => Machine::Switch(device),
            (None, Some(program), None) => Machine::Program(program),
            (None, None, Some(server)) => Machine::Server(server),
            _ => return Err(refuse("a device has one of `switch:`, `program:` and `server:`".into())),
        };
        let file = Self {
            name: name.to_owned(),
            source: form.source,
            machine,
        };
        match file.fault() {
            None => Ok(file),
            Some(fault) => Err(refuse(fault.to_owned())),
        }
    }

    /// A shipped file, by its name.
    pub fn shipped(name: &str) -> Option<Self> {
        let (name, text) = SHIPPED.iter().find(|(other, _)| *other == name)?;
        Self::parse(name, text).ok()
    }

    /// All shipped files.
    pub fn all_shipped() -> Vec<Self> {
        SHIPPED.iter().filter_map(|(name, _)| Self::shipped(name)).collect()
    }

    /// The first limit that cannot be one.
    pub fn fault(&self) -> Option<&'static str> {
        match &self.machine {
            Machine::Switch(device) if device.meetings_per_tree == 0 => {
                Some("`meetings_per_tree` has to be at least 1")
            }
            Machine::Switch(_) => None,
            Machine::Program(program) => program.fault(),
            Machine::Server(server) => server_fault(server),
        }
    }

    /// The part of the numbers that no measurement has.
    pub fn note(&self) -> Option<String> {
        let Machine::Server(server) = &self.machine else {
            return None;
        };
        let measured = server.cores_measured.filter(|measured| *measured < server.cores)?;
        let (cores, contention) = (server.cores, server.contention_permille as f64 / 10.0);
        Some(match measured {
            1 => format!("measured on 1 core; {cores} are its multiple, bounded by the agent's one thread"),
            _ => format!(
                "measured on 1 to {measured} cores; {cores} are extrapolated by their contention of {contention} % for \
                 each further core, bounded by the agent's one thread"
            ),
        })
    }

    /// The resources of the device, and the units of each that a meeting of this kind needs.
    pub fn supplies(&self, kind: &Kind) -> Vec<Supply> {
        match &self.machine {
            Machine::Switch(device) => kind.supplies(device),
            Machine::Program(program) => program.supplies(kind),
            Machine::Server(server) => server.supplies(kind),
        }
    }
}

impl Device {
    /// Intel Tofino2 with S-LM, by Scallop's published model: the shipped file `tofino2`.
    pub fn tofino2() -> Self {
        shipped_switch("tofino2")
    }

    /// The same device with 64K trees taken as 65,536: the shipped file `tofino2-65536`.
    pub fn tofino2_binary() -> Self {
        shipped_switch("tofino2-65536")
    }
}

impl Server {
    /// Mediasoup on 32 cores: the shipped file `mediasoup`.
    ///
    /// Source: Scallop section 6.2. Its published code has 2,400 Mbit/s a core.
    pub fn mediasoup() -> Self {
        shipped_server("mediasoup")
    }
}

fn shipped_switch(name: &str) -> Device {
    match DeviceFile::shipped(name).map(|file| file.machine) {
        Some(Machine::Switch(device)) => device,
        _ => unreachable!("the test of shipped files reads {name}"),
    }
}

fn shipped_server(name: &str) -> Server {
    match DeviceFile::shipped(name).map(|file| file.machine) {
        Some(Machine::Server(server)) => server,
        _ => unreachable!("the test of shipped files reads {name}"),
    }
}

fn server_fault(server: &Server) -> Option<&'static str> {
    let costs = [server.srtp, server.clear];
    let is_large = |cost: &crate::Cost| {
        let most = cost.packet_ns.max(cost.replica_ns).max(cost.receiver_us);
        most > 1_000_000
    };
    let memory = server.memory.iter();
    let times = [server.base_us, server.agent_us];
    let is_slow = |it: &crate::Latency| it.limit_us > 10_000_000 || it.run_ns > 1_000_000 || it.percent > 100;
    let is_heavy = |it: &crate::Memory| {
        let stream = it.clear_stream.unwrap_or(0).max(it.stream);
        it.participant.max(it.subscription).max(stream) > 1 << 40
    };
    if !(1..=CORES_MAX).contains(&server.cores) {
        Some("`cores` has to be from 1 to 100000")
    } else if !(1..=100).contains(&server.percent_of_core) {
        Some("`percent_of_core` has to be from 1 to 100")
    } else if server.rate_per_core.is_some() == costs.iter().any(Option::is_some) {
        Some("a server has either `rate_per_core`, or costs in `srtp` and `clear`")
    } else if costs.iter().flatten().any(is_large) || times.iter().any(|us| *us > 1_000_000) {
        Some("costs have to be at most 1000000")
    } else if server.contention_permille > 1_000 {
        Some("`contention_permille` has to be at most 1000")
    } else if !(1..=1_000).contains(&server.adaptation_percent) {
        Some("`adaptation_percent` has to be from 1 to 1000")
    } else if server.latency.iter().any(is_slow) {
        Some("`latency` has a `limit_us` of at most 10000000, a `percent` of at most 100, and a `run_ns` as costs are")
    } else if memory.clone().any(is_heavy) {
        Some("`memory` has to be in bytes")
    } else if memory.clone().any(|memory| memory.total <= memory.base) {
        Some("`memory` needs a `total` above its `base`")
    } else {
        None
    }
}
