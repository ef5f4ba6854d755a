//! Relays in the kernel: RTP that arrives at a local port is sent from another before there is a
//! socket buffer.

mod counter;
mod hook;
mod kernel;
mod letting_go;
mod plan;
mod report;
mod slots;
mod table;
#[cfg(test)]
mod tests;
mod trial;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aya::programs::ProgramFd;
use dataplane::{
    Answer, Counter as Meaning, Counters as Meanings, Offload, Refused, Relay, RelayTraffic, WriteId, Written,
};
use wire::Ssrc;

pub use counter::{Counter, Counters, Statistics};
pub use hook::Hook;

use crate::clock::Monotonic;
use crate::{Attached, EbpfError, Path, is_loopback};
use kernel::Kernel;
use report::Report;
pub use report::families_of_none;
use table::Table;

/// The configuration of relays in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayConfig {
    /// Interfaces by name. A packet that arrives at one may be sent through any of them.
    pub interfaces: Vec<String>,
    /// The hook of the program.
    pub hook: Hook,
    /// How many relays there may be here. More run in the base.
    pub relays_max: u32,
    /// A folder of a BPF file system in which program and entries outlive the process, even after a
    /// crash; the next process continues with them.
    pub pins: Option<PathBuf>,
    /// How long entries that were found there may stay without being offered again.
    pub keep: Duration,
    /// The interval at which a packet of a relay is left to the base, so that the stack sends it
    /// and notices a changed hardware address of the next hop.
    pub confirm: Duration,
}

impl Default for RelayConfig {
    fn default() -> Self {
        RelayConfig {
            interfaces: Vec::new(),
            hook: Hook::Auto,
            relays_max: 16_384,
            pins: None,
            keep: Duration::from_secs(60),
            confirm: Duration::from_secs(10),
        }
    }
}

/// The attachment on one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub interface: String,
    /// The kind of attachment.
    pub attached: Attached,
    /// The place where it runs.
    pub path: Path,
    /// Why it does not run where it would save more, if that was tried.
    pub why_not: Option<String>,
}

/// The place of the program at the moment: a handle that any thread may read.
#[derive(Clone, Debug)]
pub struct Whereabouts(Arc<Mutex<Vec<Attachment>>>);

impl Whereabouts {
    /// The state of each interface.
    pub fn found(&self) -> Vec<Attachment> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, found: &[Attachment]) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = found.to_vec();
    }
}

/// The relay program as an offload.
///
/// It takes relays that neither decrypt nor encrypt, accept from one address and send from another
/// local port; of them, only RTP. The rest is left to the base.
pub struct RelayOffload {
    table: Table<Kernel>,
    found: Vec<Attachment>,
    whereabouts: Whereabouts,
    statistics: Statistics,
    clock: Monotonic,
    /// When what was found and not offered since is removed.
    sweep: Option<Instant>,
    /// Another program runs after this one, in drivers.
    leads_on: bool,
}

impl RelayOffload {
    /// Attaches the program to its interfaces. `now` is the current time, to which all reported
    /// times are related.
    ///
    /// Errors: the reason why it is impossible. Everything is then as it was before, and the base
    /// does everything.
    pub fn start(config: &RelayConfig, now: Instant) -> Result<Self, EbpfError> {
        let clock = Monotonic::new(now);
        let (kernel, found) = Kernel::start(config)?;
        let relays = kernel.relays()?;
        Ok(RelayOffload {
            sweep: (!relays.is_empty()).then_some(clock.now() + config.keep),
            statistics: kernel.statistics(),
            table: Table::new(kernel, config.relays_max, relays),
            whereabouts: Whereabouts(Arc::new(Mutex::new(found.clone()))),
            found,
            clock,
            leads_on: false,
        })
    }

    /// The attachments on its interfaces, for the log.
    pub fn found(&self) -> &[Attachment] {
        &self.found
    }

    /// The place where relays run.
    pub fn path(&self) -> Path {
        let paths = self.found.iter().map(|found| found.path);
        paths.max().expect("there is an interface")
    }

    /// The place where it runs, readable from other threads.
    pub fn whereabouts(&self) -> Whereabouts {
        self.whereabouts.clone()
    }

    /// Has the kernel do this with what arrives at an address; it answers at once.
    ///
    /// Errors: why it does not.
    pub fn set(&mut self, now: Instant, at: SocketAddr, relay: &Relay) -> Result<(), Refused> {
        self.sweep(now);
        self.table.set(at, relay)
    }

    /// Has the kernel do nothing more there.
    pub fn remove(&mut self, now: Instant, at: SocketAddr) {
        self.sweep(now);
        self.table.remove(at);
    }

    /// How many relays the kernel has.
    pub fn relays(&self) -> usize {
        self.table.len()
    }

    /// The number of relays that an earlier process left and that have not been offered since.
    pub fn unconfirmed(&self) -> usize {
        self.table.unconfirmed()
    }

    /// The program's counts.
    pub fn statistics(&self) -> Statistics {
        self.statistics.clone()
    }

    /// The program in numbers.
    pub fn complexity(&self) -> Result<Complexity, EbpfError> {
        let info = self.table.tables.info()?;
        Ok(Complexity {
            instructions: info.size_translated().unwrap_or(0) / 8,
            verified: info.verified_instruction_count().unwrap_or(0),
        })
    }

    /// Runs the program on a frame as if it had arrived at the interface with this number. Returns
    /// the result and the frame afterwards. Nothing is sent, but the frame is counted.
    pub fn try_frame(&mut self, interface: u32, frame: &[u8]) -> Result<(Tried, Vec<u8>), EbpfError> {
        self.table.tables.try_frame(interface, frame)
    }

    /// The average time of the program for a frame that it sends unchanged, over this many runs.
    pub fn time_frame(&mut self, interface: u32, frame: &[u8], times: u32) -> Result<Duration, EbpfError> {
        self.table.tables.time_frame(interface, frame, times)
    }

    /// Runs another program on packets of no relay, where all interfaces run this one in the
    /// driver.
    pub(crate) fn lead_on(&mut self, next: &ProgramFd) -> Result<(), EbpfError> {
        let is_in_the_way = |found: &&Attachment| found.path != Path::Driver && !is_loopback(&found.interface);
        if let Some(found) = self.found.iter().find(is_in_the_way) {
            return Err(EbpfError::NotNative(found.interface.clone()));
        }
        self.table.tables.lead_on(next)?;
        self.leads_on = true;
        Ok(())
    }

    fn look_after(&mut self, now: Instant) {
        // The program behind this one checks itself, and its attachment depends on this one.
        if !self.leads_on && self.table.tables.look_after(now, &mut self.found) {
            self.whereabouts.set(&self.found);
        }
    }

    fn sweep(&mut self, now: Instant) {
        if self.sweep.is_some_and(|at| at <= now) {
            self.sweep = None;
            self.table.sweep();
        }
    }
}

/// The result for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// It is dropped.
    Dropped,
    /// It continues to the stack.
    Passed,
    /// It is sent through the interface it came from.
    Sent,
    /// It is sent through another one.
    Redirected,
}

/// How large a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complexity {
    /// Its instructions.
    pub instructions: u32,
    /// How many the kernel looked at to see that it is safe; of at most a million.
    pub verified: u32,
}

impl Offload for RelayOffload {
    fn offer(&mut self, now: Instant, _write: WriteId, at: SocketAddr, relay: Option<&Relay>) -> Answer {
        match relay {
            Some(relay) => self.set(now, at, relay).into(),
            None => {
                self.remove(now, at);
                Answer::Taken
            }
        }
    }

    fn next_written(&mut self) -> Option<Written> {
        let now = self.clock.now();
        self.sweep(now);
        self.look_after(now);
        None
    }

    fn relay_traffic(&mut self, at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        let counted = self.table.traffic(at)?;
        let traffic = RelayTraffic {
            packets: counted.packets,
            bytes: counted.bytes,
            dropped: counted.dropped,
            ssrc: (counted.packets > 0).then(|| Ssrc(u32::from_be(counted.ssrc))),
            ..RelayTraffic::default()
        };
        let last = (counted.packets > 0).then(|| self.table.tables.nanoseconds(counted.last));
        Some((traffic, last.flatten().map(|last| self.clock.instant(last))))
    }

    fn counters(&mut self) -> Meanings {
        let counted = self.statistics.read();
        let mut meanings = Meanings::default();
        for (counter, meaning) in [
            (Counter::Relayed, Meaning::Relayed),
            (Counter::ForeignSource, Meaning::ForeignSource),
            (Counter::Malformed, Meaning::Malformed),
        ] {
            meanings[meaning] = counted[counter];
            meanings[Meaning::Received] += counted[counter];
        }
        meanings
    }

    fn name(&self) -> &'static str {
        "kernel"
    }

    fn statistics(&self) -> Vec<Arc<dyn dataplane::Statistics>> {
        vec![Arc::new(Report {
            statistics: self.statistics.clone(),
            whereabouts: self.whereabouts.clone(),
        })]
    }
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attached = match self.attached {
            Attached::Native => "native",
            Attached::Stack => "tc",
            Attached::Generic => "generic",
            Attached::Adopted => "adopted",
        };
        write!(f, "{}: {attached}", self.interface)?;
        match &self.why_not {
            Some(why_not) => write!(f, " ({why_not})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for RelayOffload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayOffload")
            .field("found", &self.found)
            .field("relays", &self.relays())
            .finish_non_exhaustive()
    }
}
