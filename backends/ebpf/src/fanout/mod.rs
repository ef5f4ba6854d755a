//! Rooms in the kernel: RTP of a stream is copied to those who get it, each copy with its receiver's numbers, before any socket has seen it.
//!
//! What is taken are legs without encryption, streams without retransmissions, and the replicas of those; see [`fit`] for what is not. A stream
//! may have replicas here and others in the base: its packets go up then, and the base sends only what is not sent here ([`Offload::sends`]).
//!
//! Read `program/fanout.bpf.c` for what becomes of a packet, then [`book`] for what the kernel is told, and when.

mod bell;
mod book;
mod broadcast;
mod copies;
mod entries;
mod fit;
mod inherited;
mod kernel;
mod log;
mod merging;
mod repair;
#[cfg(test)]
mod rewriting;
mod slots;
mod stamp;
mod standing;

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dataplane::limits::PROBE_PACKETS_MAX;
use dataplane::{
    Continuation, Counter, Counters, Event, LegId, Offload, Reason, Refused, RelayTraffic, ReplicaId,
    ReplicaStatistics, StreamKey, StreamStatistics, Update,
};
use wire::codec::Layer;

use crate::clock::Monotonic;
use crate::layout::fanout as layout;
use crate::{Complexity, EbpfError, Found, RelayOffload, Step, Tried};
use bell::Bell;
use book::Book;
use broadcast::Watch;
pub use copies::{Copies, CopiesAt, RoomsPath};
use inherited::Inherited;
use kernel::Kernel;
use log::Log;

/// How often at most the kernel is made to look for one receiver's hardware address.
const NUDGE_EVERY: Duration = Duration::from_secs(1);

/// The most that one probe sends.
const PROBE_BYTES_MAX: u32 = 65_536;

/// Where nobody listens (RFC 863).
const DISCARD: u16 = 9;

/// Where rooms are taken off the way to the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FanoutConfig {
    /// Interfaces by name, at which publishers' packets arrive. Copies leave wherever routes lead.
    pub interfaces: Vec<String>,
    /// Whether packets that were copied go on to the base in any case, so that it can report arrivals and keep statistics of its own. Otherwise they do only
    /// where it has replicas of the stream.
    pub goes_up: bool,
    /// Where copies are made.
    pub path: RoomsPath,
    /// A folder of a BPF file system in which to keep program and entries over the end of the process, however that comes.
    pub pins: Option<PathBuf>,
    /// How long entries that were found there stay. Whose they are nobody can know: whoever comes again gets new ones.
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
    book: Book,
    clock: Monotonic,
    /// What only publishers can answer.
    wanted: VecDeque<Event>,
    /// Requests for packets that nobody here sends again, however they end.
    not_resent: u64,
    /// By whom nobody was known lately, and when that was asked for.
    nudged: HashMap<LegId, Instant>,
    /// What it found on its interfaces.
    attached: Vec<Found>,
    /// Over copies in the driver.
    watch: Watch,
    copies_at: CopiesAt,
    /// For what makes the kernel look for a neighbour.
    sockets: [Option<UdpSocket>; 2],
    log: Log,
    _bell: Option<Bell>,
}

impl Fanout {
    /// Puts the program on its interfaces. `now` is the time that all times told are related to.
    ///
    /// Errors: why it cannot be. The base does everything then.
    pub fn start(config: &FanoutConfig, now: Instant) -> Result<Self, EbpfError> {
        Self::start_at(config, None, now)
    }

    /// The same where relays are on the same interfaces: a driver runs one program, and that leads on to this.
    ///
    /// Errors: as above.
    pub fn start_behind(relays: &mut RelayOffload, config: &FanoutConfig, now: Instant) -> Result<Self, EbpfError> {
        Self::start_at(config, Some(relays), now)
    }

    fn start_at(config: &FanoutConfig, relays: Option<&mut RelayOffload>, now: Instant) -> Result<Self, EbpfError> {
        let socket = |any: IpAddr| {
            UdpSocket::bind((any, 0))
                .ok()
                .filter(|socket| socket.set_nonblocking(true).is_ok())
        };
        let (kernel, attached) = Kernel::start(config, relays)?;
        let left =
            Inherited::read(&kernel, now, config.keep).map_err(|error| EbpfError::inside(Step::Tables, error))?;
        let copies_at = CopiesAt::default();
        copies_at.set(Copies::of(&kernel));
        Ok(Fanout {
            book: Book::new(kernel, config.goes_up, left),
            attached,
            watch: Watch::default(),
            copies_at,
            clock: Monotonic::new(now),
            wanted: VecDeque::new(),
            not_resent: 0,
            nudged: HashMap::new(),
            sockets: [
                socket(Ipv4Addr::UNSPECIFIED.into()),
                socket(Ipv6Addr::UNSPECIFIED.into()),
            ],
            log: Log::default(),
            _bell: None,
        })
    }

    /// Has `wake` called whenever there is something to [`poll`](Offload::poll), but not all the time: what there is can wait some milliseconds.
    ///
    /// Errors: why it cannot be. Then somebody has to look.
    pub fn wake_with(&mut self, wake: Arc<dyn Fn() + Send + Sync>) -> Result<(), EbpfError> {
        let failed = |error| EbpfError::of(Step::Tables, error);
        let log = self.book.kernel.log_fd().map_err(failed)?;
        self._bell = Some(Bell::start(log, wake).map_err(failed)?);
        Ok(())
    }

    /// What it found on its interfaces, for the log.
    pub fn found(&self) -> &[Found] {
        &self.attached
    }

    /// Where copies are made, for the log.
    pub fn copies(&self) -> Copies<'_> {
        Copies::of(&self.book.kernel)
    }

    /// The same for whoever asks while this runs.
    pub fn copies_at(&self) -> CopiesAt {
        self.copies_at.clone()
    }

    /// How many copies left that were made in the driver.
    pub fn left_by_driver(&self) -> u64 {
        self.book.kernel.traffic().left
    }

    /// How many replicas went on here after the base had sent them.
    pub fn taken_over(&self) -> u64 {
        self.book.came()
    }

    /// How many streams an earlier process left, which the kernel still copies.
    pub fn unconfirmed(&self) -> usize {
        self.book.found()
    }

    fn sweep(&mut self, now: Instant) {
        if self.book.sweeps_at().is_some_and(|at| at <= now) {
            self.book.sweep(now);
        }
    }

    /// Packets that an interface had made one of several, which nothing can be done with here: turn its GRO off (`ethtool -K INTERFACE gro off`).
    pub fn merged(&self) -> u64 {
        self.book.kernel.counts()[layout::FAN_MERGED as usize]
    }

    /// The program in numbers.
    pub fn complexity(&mut self) -> Result<Complexity, EbpfError> {
        let failed = |error| EbpfError::inside(Step::Load, error);
        let info = self.book.kernel.program()?.info().map_err(failed)?;
        Ok(Complexity {
            instructions: info.size_translated().unwrap_or(0) / 8,
            verified: info.verified_instruction_count().unwrap_or(0),
        })
    }

    /// Runs the program on a frame as if it had arrived at the interface with this number. What is copied of it is sent.
    pub fn try_frame(&mut self, interface: u32, frame: &[u8]) -> Result<Tried, EbpfError> {
        match self.book.kernel.try_frame(interface, frame)? {
            kernel::NEXT => Ok(Tried::Passed),
            _ => Ok(Tried::Dropped),
        }
    }

    /// Has a frame arrive at the interface with this number, where the driver's program is: what that leaves goes on to the stack.
    pub fn arrive_in_driver(&mut self, interface: u32, frame: &[u8]) -> Result<(), EbpfError> {
        self.book.kernel.arrive(interface, frame)
    }

    /// Copies are made in the stack from now on if no driver takes them any more.
    fn watch(&mut self) {
        let now = self.clock.now();
        if self.book.kernel.broadcast.is_err() || !self.watch.is_due(now) {
            return;
        }
        let traffic = self.book.kernel.traffic();
        if self.watch.is_stuck(traffic) {
            let names: Vec<&str> = self.attached.iter().map(|found| &*found.interface).collect();
            self.book.leave_driver(now, EbpfError::SendsNone(names.join(", ")));
            self.copies_at.set(self.copies());
        }
    }

    fn read_note(&mut self, note: layout::FanoutNote) -> Option<Event> {
        if note.kind == layout::NOTE_ELSEWHERE {
            let source = self.book.stream_of(note.source.checked_sub(1)?)?;
            self.book.keep_in_stack(self.clock.now(), source);
            return None;
        }
        let replica = self.book.replica_of(note.replica)?;
        match note.kind {
            layout::NOTE_SELECTED => {
                let source = self.book.stream_of(note.source.checked_sub(1)?)?;
                self.book.follows(self.clock.now(), replica, source);
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
                let (entry, _) = self.book.replica(replica)?;
                self.nudge(entry.leg);
                None
            }
        }
    }

    /// Makes the kernel look for a receiver's hardware address, by sending something of no meaning there as programs do.
    fn nudge(&mut self, id: LegId) {
        let now = self.clock.now();
        let lately = |at: &Instant| now.saturating_duration_since(*at) < NUDGE_EVERY;
        if self.nudged.get(&id).is_some_and(lately) {
            return;
        }
        self.nudged.retain(|_, at| lately(at));
        self.nudged.insert(id, now);
        let remote = self
            .book
            .leg(id)
            .and_then(|leg| leg.paths.first())
            .map(|path| path.remote);
        if let Some(remote) = remote
            && let Some(socket) = &self.sockets[usize::from(remote.is_ipv6())]
        {
            // Whether it could is told by whether there are more notes.
            let _ = socket.send_to(&[], SocketAddr::new(remote.ip(), DISCARD));
        }
    }
}

impl Offload for Fanout {
    fn offer(&mut self, now: Instant, update: &Update) -> Result<(), Refused> {
        self.sweep(now);
        match update {
            Update::SetLeg(id, leg) => {
                let answer = self.book.set_leg(now, *id, leg.clone());
                self.nudge(*id);
                return answer;
            }
            Update::SetStream(key, stream) => return self.book.set_stream(now, *key, stream.clone()),
            Update::SetReplica(id, replica) => return self.book.set_replica(now, *id, replica.clone()),
            Update::RemoveLeg(id) => {
                self.log.forget(*id);
                self.book.remove_leg(now, *id);
            }
            Update::RemoveStream(key) => self.book.remove_stream(now, *key),
            Update::RemoveReplica(id) => self.book.remove_replica(now, *id),
            Update::RemoveRelay(_) => {}
            // Nothing waits in the kernel: a pace is the base's.
            Update::SetPace(_, None) => {}
            Update::SetPace(_, Some(_)) | Update::SetRelay(..) => return Err(Refused::Unsupported(Reason::Table)),
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<Event> {
        if let Some(event) = self.wanted.pop_front() {
            return Some(event);
        }
        if self.book.sweeps_at().is_some() {
            self.sweep(self.clock.now());
        }
        self.watch();
        self.book.look_for_room(self.clock.now());
        while let Some(note) = self.book.kernel.next_note() {
            if let Some(event) = self.read_note(note) {
                return Some(event);
            }
        }
        self.log.next(&mut self.book, &self.clock)
    }

    fn relay_traffic(&mut self, _at: SocketAddr) -> Option<(RelayTraffic, Option<Instant>)> {
        None
    }

    fn counters(&mut self) -> Counters {
        let counts = self.book.kernel.counts();
        let mut counters = Counters::default();
        for (at, counter) in COUNTERS {
            counters[counter] += counts[at as usize];
        }
        counters[Counter::NoRetransmission] += self.not_resent;
        counters
    }

    fn takes_replicas(&self) -> bool {
        true
    }

    fn sends(&self, replica: ReplicaId) -> bool {
        self.book.sends(replica)
    }

    fn goes_on(&self, id: ReplicaId) -> Option<Continuation> {
        self.book.goes_on(id)
    }

    fn next_takeable(&mut self) -> Option<ReplicaId> {
        self.book.next_takeable()
    }

    fn take_over(
        &mut self,
        replica: ReplicaId,
        from: Option<Continuation>,
        transport_sequence: u16,
    ) -> Result<(), Refused> {
        self.book.take_over(self.clock.now(), replica, from, transport_sequence)
    }

    fn want(&mut self, _now: Instant, replica: ReplicaId, sequences: &[u16]) {
        self.not_resent += sequences.len() as u64;
        if let Some((stream, sequences)) = self.book.want(replica, sequences) {
            self.wanted.push_back(Event::Wanted { stream, sequences });
        }
    }

    fn probe(&mut self, leg: LegId, probe: u32, bytes: u32, packets: u32) -> bool {
        let begun = self
            .book
            .probe(leg, packets.min(PROBE_PACKETS_MAX), bytes.min(PROBE_BYTES_MAX));
        if begun {
            self.log.probes(leg, probe);
        }
        begun
    }

    fn next_stamped(&mut self) -> Option<LegId> {
        self.book.counts.next_new()
    }

    fn replica_statistics(&self, id: ReplicaId) -> Option<ReplicaStatistics> {
        let (_, cell) = self.book.replica(id)?;
        let source = cell.progress.source.checked_sub(1);
        Some(ReplicaStatistics {
            packets: cell.progress.packets,
            octets: cell.progress.octets,
            resent: cell.progress.resent,
            source: source.and_then(|state| self.book.stream_of(state)),
            timestamp_offset: cell.progress.timestamp_offset,
        })
    }

    /// Without jitter, which is for who sees packets arrive.
    fn stream_statistics(&self, key: StreamKey) -> Option<StreamStatistics> {
        let progress = self.book.stream(key)?.progress;
        Some(StreamStatistics {
            packets: progress.packets,
            octets: progress.octets,
            first: progress.first,
            highest: progress.newest,
            jitter: 0,
        })
    }
}

/// What the program counts, by the contract's names.
const COUNTERS: [(u32, Counter); 25] = [
    (layout::FAN_RECEIVED, Counter::Received),
    (layout::FAN_FORWARDED, Counter::Forwarded),
    (layout::FAN_RESENT, Counter::Resent),
    (layout::FAN_MALFORMED, Counter::Malformed),
    (layout::FAN_OVERSIZED, Counter::Oversized),
    (layout::FAN_DUPLICATE, Counter::Duplicate),
    (layout::FAN_TOO_LATE, Counter::TooLate),
    (layout::FAN_UNKNOWN_FORMAT, Counter::UnknownFormat),
    (layout::FAN_PADDING_ONLY, Counter::PaddingOnly),
    (layout::FAN_NO_REPLICA, Counter::NoReplica),
    (layout::FAN_NOT_SELECTED, Counter::NotSelected),
    (layout::FAN_PAUSED, Counter::Paused),
    (layout::FAN_AWAITING_KEY_FRAME, Counter::AwaitingKeyFrame),
    (layout::FAN_BEFORE_SWITCH, Counter::BeforeSwitch),
    (layout::FAN_NOT_NEGOTIATED, Counter::NotNegotiated),
    (layout::FAN_NOT_READY, Counter::NotReady),
    (layout::FAN_OUTSIDE_TARGET, Counter::OutsideTarget),
    (layout::FAN_UNDECODABLE, Counter::Undecodable),
    (layout::FAN_SEND_FAILED, Counter::SendFailed),
    (layout::FAN_MERGED, Counter::SendFailed),
    (layout::FAN_REPLICA_OVERSIZED, Counter::ReplicaOversized),
    (layout::FAN_LOG_FULL, Counter::PuntQueueFull),
    (layout::FAN_LEFT, Counter::Forwarded),
    (layout::FAN_LEFT_AGAIN, Counter::Resent),
    (layout::FAN_PROBED, Counter::Probed),
];
