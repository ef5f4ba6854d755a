//! Measurements in a process of their own, which can wait for its turn at a machine that is shared.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::{RunningServer, shell};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{setsockopt, sockopt};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::phones::Cables;
use crate::polling::Polling;
use crate::proxy::Proxy;
use crate::scene::{Between, Load, Scene};

/// Measurements to make in one turn, in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subprocess {
    /// The jobs, each with its load.
    pub jobs: Vec<(Job, Load)>,
    /// Folder for relays' output.
    pub folder: PathBuf,
}

/// Something to measure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Its name in tables.
    pub name: String,
    /// The cables of the phones.
    pub cables: Cables,
    /// The connection between callers and callees.
    pub between: Between,
    /// The relay to start, if there is one.
    pub server: Option<Server>,
    /// Whether separate threads process packets at both ends of its cable.
    pub polled: bool,
}

/// A relay's process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    /// The namespace where it runs.
    pub namespace: String,
    /// The words that start it there.
    pub command: Vec<String>,
}

/// The result of a job: its outcome, or the reason that there is none.
pub(crate) type JobResult = Result<Outcome, String>;

impl Subprocess {
    /// Runs it in a process, started by the words of `turn` if the machine is shared by turns;
    /// returns its results.
    pub fn order(&self, turn: &[String]) -> io::Result<Vec<JobResult>> {
        let program = std::env::current_exe()?.display().to_string();
        let orders = self.folder.join("orders.json");
        std::fs::write(&orders, serde_json::to_vec(self)?)?;
        let mut words = turn.to_vec();
        words.extend([program, "subprocess".into(), orders.display().to_string()]);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        serde_json::from_slice(&output.stdout).map_err(|_| io::Error::other("the measuring process failed"))
    }

    /// Performs it, in the process started for it.
    pub fn perform(&self) -> Vec<JobResult> {
        // If this is refused, a relay and its phones disturb each other more than necessary.
        let _ = leave_a_processor();
        let _merging = have_datagrams_merged();
        let measure = |(job, load): &(Job, Load)| job.measure(load, &self.folder).map_err(|error| error.to_string());
        self.jobs.iter().map(measure).collect()
    }
}

/// Keeps this process off the first processor, if there are others: that is the relay's.
///
/// Else figures depend on whether the scheduler happens to put both on the same one, where a packet
/// wakes nobody up, or not.
fn leave_a_processor() -> io::Result<()> {
    let mut others = CpuSet::new();
    for processor in 1..harness::Machine::processors() {
        others.set(processor)?;
    }
    if harness::Machine::processors() > 1 {
        sched_setaffinity(Pid::from_raw(0), &others)?;
    }
    Ok(())
}

/// A socket that takes datagrams merged, of which Weir has some. As long as there is one, the
/// kernel looks for it whenever a datagram arrives anywhere on the machine: at the phones' end of
/// the cable, too, which would be charged to Weir alone.
fn have_datagrams_merged() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    setsockopt(&socket, sockopt::UdpGroSegment, &true)?;
    Ok(socket)
}

impl Job {
    fn measure(&self, load: &Load, folder: &std::path::Path) -> io::Result<Outcome> {
        let Some(server) = &self.server else {
            return Scene::measure(&self.cables, self.between, None, load);
        };
        let log = folder.join(format!("{}.log", self.name));
        let mut running = RunningServer::start_until(&server.command, log, || self.is_ready(&server.namespace))?;
        let _polling = self
            .polled
            .then(|| Polling::begin(&server.namespace, &self.cables.interfaces[0]))
            .transpose()?;
        let outcome = Scene::measure(&self.cables, self.between, Some(running.pid()), load)?;
        running.check()?;
        Ok(outcome)
    }

    fn is_ready(&self, namespace: &str) -> bool {
        match self.between {
            Between::Relay { control, proxy } => {
                Proxy::open(proxy, control).is_ok_and(|proxy| proxy.is_answered(Duration::from_millis(50)))
            }
            // A program in XDP is there or not.
            _ => shell(&format!("ip -n {namespace} link show {}", harness::SERVER_INTERFACE))
                .is_ok_and(|said| said.contains("xdp")),
        }
    }
}
