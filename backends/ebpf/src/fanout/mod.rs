//! Rooms in the kernel: RTP of a stream is copied to its receivers, with each receiver's numbers,
//! before it reaches a socket.
//!
//! The kernel takes legs without encryption, streams without retransmissions, and the replicas of
//! those; see [`fit`] for the limits. A stream may have replicas both here and in the base. Its
//! packets then also go to the base, which sends only to the replicas that are not sent from here
//! ([`sends`](dataplane::ReplicaOffload::sends)).
//!
//! Read `program/fanout/fanout.bpf.c` for the path of a packet, then [`table`] for the entries that
//! are written to the kernel, and when.

mod adopted;
mod broadcast;
mod copies;
mod entries;
mod fit;
mod handover;
mod kernel;
mod log;
mod log_waker;
mod merging;
mod offload;
mod repair;
#[cfg(test)]
mod rewriting;
mod slots;
mod stamp;
mod table;

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::{Event, LegId};
use wire::codec::Layer;

use crate::clock::Monotonic;
use crate::layout::fanout as layout;
use crate::{Attachment, Complexity, EbpfError, RelayOffload, Step, Tried};
use adopted::Adopted;
use broadcast::Watch;
pub use copies::{Copies, CopiesAt, RoomsPath};
use kernel::Kernel;
use log::Log;
use log_waker::LogWaker;
use table::EntryTable;

/// The shortest time between two attempts to resolve one receiver's hardware address.
const NUDGE_EVERY: Duration = Duration::from_secs(1);

/// A port that nobody listens on (RFC 863).
const DISCARD: u16 = 9;

/// The configuration of rooms in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FanoutConfig {
    /// Interfaces by name, at which publishers' packets arrive. Copies are sent as routes lead.
    pub interfaces: Vec<String>,
    /// Whether copied packets also go to the base in any case, so that it can report arrivals and
    /// keep statistics of its own. Otherwise they go there only if the base has replicas of the
    /// stream.
    pub goes_up: bool,
    /// The place where copies are made.
    pub path: RoomsPath,
    /// A folder of a BPF file system in which program and entries outlive the process, even a
    /// crash.
    pub pins: Option<PathBuf>,
    /// How long entries that were found there stay. Their owners are unknown: a participant that
    /// connects again gets new entries.
    pub keep: Duration,
}

impl Default for FanoutConfig {
    fn default() -> Self {
        FanoutConfig {
            interfaces: Vec::new(),
            goes_up: false,
            path: RoomsPath::Auto,
            pins: None,
            keep: Duration::from_secs(60),
        }
    }
}

/// The fan-out program as an offload.
pub struct Fanout {
    table: EntryTable,
    clock: Monotonic,
    /// Events that only publishers can answer.
    wanted: VecDeque<Event>,
    /// Requests for packets that are not retransmitted here, whatever their outcome.
    not_resent: u64,
    /// Receivers whose hardware address was unknown, and the time of the last attempt to resolve
    /// it.
    nudged: HashMap<IpAddr, Instant>,
    /// The attachments on its interfaces.
    attached: Vec<Attachment>,
    /// Over copies in the driver.
    watch: Watch,
    copies_at: CopiesAt,
    /// Sockets for making the kernel resolve a neighbour.
    sockets: [Option<UdpSocket>; 2],
    log: Log,
    _log_waker: Option<LogWaker>,
}

impl Fanout {
    /// Attaches the program to its interfaces. `now` is the current time, to which all reported
    /// times are related.
    ///
    /// Errors: the reason why it is impossible. The base does everything then.
    pub fn start(config: &FanoutConfig, now: Instant) -> Result<Self, EbpfError> {
        Self::start_at(config, None, now)
    }

    /// The same where relays are on the same interfaces: a driver runs one program, and that leads
    /// on to this.
    ///
    /// Errors: as above.
    pub fn start_behind(relays: &mut RelayOffload, config: &FanoutConfig, now: Instant) -> Result<Self, EbpfError> {
        Self::start_at(config, Some(relays), now)
    }

    fn start_at(config: &FanoutConfig, relays: Option<&mut RelayOffload>, now: Instant) -> Result<Self, EbpfError> {
        let clock = Monotonic::new(now);
        let socket = |any: IpAddr| {
            UdpSocket::bind((any, 0))
                .ok()
                .filter(|socket| socket.set_nonblocking(true).is_ok())
        };
        let (kernel, attached) = Kernel::start(config, relays)?;
        let left =
            Adopted::read(&kernel, clock.now(), config.keep).map_err(|error| EbpfError::inside(Step::Tables, error))?;
        let copies_at = CopiesAt::default();
        copies_at.set(Copies::of(&kernel));
        Ok(Fanout {
            table: EntryTable::new(kernel, config.goes_up, left),
            attached,
            watch: Watch::default(),
            copies_at,
            clock,
            wanted: VecDeque::new(),
            not_resent: 0,
            nudged: HashMap::new(),
            sockets: [
                socket(Ipv4Addr::UNSPECIFIED.into()),
                socket(Ipv6Addr::UNSPECIFIED.into()),
            ],
            log: Log::default(),
            _log_waker: None,
        })
    }

    /// Has `wake` called when there is something to [`poll`](dataplane::ReplicaOffload::poll), with
    /// a delay of some milliseconds at most.
    ///
    /// Errors: the reason why it is impossible. The caller then has to poll regularly.
    pub fn wake_with(&mut self, wake: Arc<dyn Fn() + Send + Sync>) -> Result<(), EbpfError> {
        let failed = |error| EbpfError::of(Step::Tables, error);
        let log = self.table.kernel.log_fd().map_err(failed)?;
        self._log_waker = Some(LogWaker::start(log, wake).map_err(failed)?);
        Ok(())
    }

    /// The attachments on its interfaces, for the log.
    pub fn found(&self) -> &[Attachment] {
        &self.attached
    }

    /// The place where copies are made, for the log.
    pub fn copies(&self) -> Copies<'_> {
        Copies::of(&self.table.kernel)
    }

    /// The same for whoever asks while this runs.
    pub fn copies_at(&self) -> CopiesAt {
        self.copies_at.clone()
    }

    /// The number of copies sent that were made in the driver.
    pub fn left_by_driver(&self) -> u64 {
        self.table.kernel.traffic().left
    }

    /// How many replicas went on here after the base had sent them.
    pub fn taken_over(&self) -> u64 {
        self.table.came()
    }

    /// The number of streams that an earlier process left and the kernel still copies.
    pub fn unconfirmed(&self) -> usize {
        self.table.found()
    }

    fn sweep(&mut self, now: Instant) {
        if self.table.sweeps_at().is_some_and(|at| at <= now) {
            self.table.sweep(now);
        }
    }

    /// Packets that an interface had merged into one, which cannot be copied: turn its GRO off
    /// (`ethtool -K INTERFACE gro off`).
    pub fn merged(&self) -> u64 {
        self.table.kernel.counts()[layout::FAN_MERGED as usize]
    }

    /// The program in numbers.
    pub fn complexity(&mut self) -> Result<Complexity, EbpfError> {
        let failed = |error| EbpfError::inside(Step::Load, error);
        let info = self.table.kernel.program()?.info().map_err(failed)?;
        Ok(Complexity {
            instructions: info.size_translated().unwrap_or(0) / 8,
            verified: info.verified_instruction_count().unwrap_or(0),
        })
    }

    /// Runs the program on a frame as if it had arrived at the interface with this number. Returns
    /// the result and the frame afterwards. Clones are sent, but the last copy of a frame is the
    /// frame itself, which is not sent ([`Tried::Redirected`]).
    pub fn try_frame(&mut self, interface: u32, frame: &[u8]) -> Result<(Tried, Vec<u8>), EbpfError> {
        self.table.kernel.try_frame(interface, frame)
    }

    /// Has a frame arrive at the interface with this number, where the driver's program runs. If
    /// the program passes it, it continues to the stack.
    pub fn arrive_in_driver(&mut self, interface: u32, frame: &[u8]) -> Result<(), EbpfError> {
        self.table.kernel.arrive(interface, frame)
    }

    /// Has copies made in the stack once the driver no longer accepts them.
    fn watch(&mut self) {
        let now = self.clock.now();
        if self.table.kernel.broadcast.is_err() || !self.watch.is_due(now) {
            return;
        }
        let traffic = self.table.kernel.traffic();
        if self.watch.is_stuck(traffic) {
            let names: Vec<&str> = self.attached.iter().map(|found| &*found.interface).collect();
            self.table.leave_driver(now, EbpfError::SendsNone(names.join(", ")));
            self.copies_at.set(self.copies());
        }
    }

    fn read_note(&mut self, note: layout::FanoutNote) -> Option<Event> {
        if note.kind == layout::NOTE_ELSEWHERE {
            let source = self.table.stream_of(note.source.checked_sub(1)?)?;
            self.table.keep_in_stack(self.clock.now(), source);
            return None;
        }
        let replica = self.table.replica_of(note.replica)?;
        match note.kind {
            layout::NOTE_SELECTED => {
                let source = self.table.stream_of(note.source.checked_sub(1)?)?;
                self.table.follows(self.clock.now(), replica, source);
                let layer = Layer {
                    spatial: note.spatial as u8,
                    temporal: note.temporal as u8,
                };
                Some(Event::Selected {
                    replica,
                    source,
                    layer,
                    awaits_key_frame: note.awaits != 0,
                })
            }
            _ => {
                let (entry, _) = self.table.replica(replica)?;
                self.nudge(entry.leg);
                None
            }
        }
    }

    /// Makes the kernel resolve a receiver's hardware address, by sending an empty datagram there.
    fn nudge(&mut self, id: LegId) {
        let Some(path) = self.table.leg(id).and_then(|leg| leg.paths.first()) else {
            return;
        };
        let (now, remote) = (self.clock.now(), path.remote.ip());
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < NUDGE_EVERY;
        if self.nudged.get(&remote).is_some_and(is_recent) {
            return;
        }
        self.nudged.retain(|_, at| is_recent(at));
        self.nudged.insert(remote, now);
        if let Some(socket) = &self.sockets[usize::from(remote.is_ipv6())] {
            // Further notes tell whether it was resolved.
            let _ = socket.send_to(&[], SocketAddr::new(remote, DISCARD));
        }
    }
}
