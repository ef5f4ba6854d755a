//! The fan-out program in the kernel: loaded, attached, its tables.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use aya::maps::{Array, HashMap, MapData, MapError, PerCpuArray, RingBuf};
use aya::programs::{ProgramError, SchedClassifier, TcAttachType, TestRunOptions};
use aya::{Ebpf, EbpfLoader, Pod, TestRun, include_bytes_aligned};
use aya_obj::Object;
use bpf_retry::unless_interrupted;
use nix::net::if_::if_nametoindex;

use super::broadcast::{self, Broadcast, Traffic};
use super::{FanoutConfig, RoomsPath, merging};
use crate::clock::nanoseconds;
use crate::layout::fanout::{
    self as layout, Ask, FAN_COUNTS, FAN_LEFT, FAN_LEFT_AGAIN, FAN_ORDERED, FanoutNote, FrameNumbers, Pair, Probe,
    ReplicaCell, ReplicaEntry, StreamCell, StreamEntry, StreamKey, StreamPlace,
};
use crate::maps::take;
use crate::pins::{self, Pins};
use crate::{Attached, Attachment, EbpfError, RelayOffload, Step, Tried, attach, look_ups};

/// `program/fanout/fanout.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/fanout.bpf.o"));

/// The verdict for a frame that the program does not handle: it continues to the stack.
const NEXT: i32 = -1;

/// The verdict for a frame that is sent as the last of its copies.
const REDIRECT: i32 = 7;

/// The most bytes by which a packet grows: header extensions, and a word for a dependency
/// descriptor.
const GROWTH: usize = 512;

/// `struct __sk_buff` up to the number of the interface, which is at the end then.
const CONTEXT: usize = 44;
const CONTEXT_INTERFACE: usize = 40;

/// Maps that are no tables: what one packet needs while it is copied, what a processor keeps of
/// others, what was noted for a process that is gone, and where broadcasts go, which end with it.
const OF_THIS_PROGRAM: [&str; 7] = ["scratches", "lines", "notes", "log_ring", "outboxes", "fans", "tried"];

/// The program, on its interfaces. Without pins it is detached when this is dropped or the process
/// dies.
pub(super) struct Kernel {
    loaded: Ebpf,
    legs: HashMap<MapData, Pair, u32>,
    streams: HashMap<MapData, StreamKey, StreamPlace>,
    /// How often these two were changed: what processors keep of them is as of that.
    changes: Array<MapData, u32>,
    pub(super) stream_entries: Array<MapData, StreamEntry>,
    pub(super) stream_states: Array<MapData, StreamCell>,
    pub(super) replica_entries: Array<MapData, ReplicaEntry>,
    pub(super) replica_states: Array<MapData, ReplicaCell>,
    pub(super) replica_frames: Array<MapData, FrameNumbers>,
    pub(super) wanted: Array<MapData, u64>,
    pub(super) asks: HashMap<MapData, Ask, u64>,
    counts: PerCpuArray<MapData, u64>,
    pub(super) transport_numbers: Array<MapData, u32>,
    pub(super) probes: Array<MapData, Probe>,
    notes: RingBuf<MapData>,
    log: RingBuf<MapData>,
    /// Copies in the driver, or why there are none, if any were wanted.
    pub(super) broadcast: Result<Broadcast, Option<EbpfError>>,
    _pins: Option<Pins>,
}

impl Kernel {
    /// Loads the program, and puts it where packets arrive; with the tables that are pinned if
    /// there are any.
    pub(super) fn start(
        config: &FanoutConfig,
        relays: Option<&mut RelayOffload>,
    ) -> Result<(Self, Vec<Attachment>), EbpfError> {
        look_ups::allow(config.pins.as_deref()).map_err(|error| EbpfError::of(Step::Forwarding, error))?;
        let tables = tables()?;
        let folder = format!("fanout-{}-{:016x}", layout::FANOUT_LAYOUT, layout::FINGERPRINT);
        let open = |parent: &Path| Pins::open(&pins::of_rooms(parent), &folder, |folder| fits(folder, &tables));
        let pins = config.pins.as_deref().map(open).transpose()?;
        let mark = nanoseconds() as u32 | 1;
        let mut loaded = load(&tables, pins.as_ref(), mark)?;
        let mut found = Vec::new();
        for name in &config.interfaces {
            let link = pins.as_ref().map(|pins| pins.link(name));
            found.push(Attachment {
                interface: name.clone(),
                path: attach::Path::Stack,
                attached: put(program(&mut loaded)?, name, link.as_deref())?,
                why_not: None,
            });
        }
        if let Some(pins) = &pins {
            pins.remove_other_links(&config.interfaces);
        }
        let counts = take(&mut loaded, "counts")?;
        let kernel = Kernel {
            broadcast: broadcast(&mut loaded, config, &counts, mark, relays)?,
            legs: take(&mut loaded, "legs")?,
            streams: take(&mut loaded, "streams")?,
            changes: take(&mut loaded, "changes")?,
            stream_entries: take(&mut loaded, "stream_entries")?,
            stream_states: take(&mut loaded, "stream_states")?,
            replica_entries: take(&mut loaded, "replica_entries")?,
            replica_states: take(&mut loaded, "replica_states")?,
            replica_frames: take(&mut loaded, "replica_frames")?,
            wanted: take(&mut loaded, "wanted")?,
            asks: take(&mut loaded, "asks")?,
            counts,
            transport_numbers: take(&mut loaded, "transport_numbers")?,
            probes: take(&mut loaded, "probes")?,
            notes: take(&mut loaded, "notes")?,
            log: take(&mut loaded, "log_ring")?,
            loaded,
            _pins: pins,
        };
        Ok((kernel, found))
    }

    /// All pairs of addresses, and their legs.
    pub(super) fn legs(&self) -> impl Iterator<Item = Result<(Pair, u32), MapError>> {
        self.legs.iter()
    }

    pub(super) fn set_leg(&mut self, pair: Pair, number: u32) -> Result<(), MapError> {
        let written = self.legs.insert(pair, number, 0);
        self.have_looked_again();
        written
    }

    /// An error is ignored, because there would be nothing to undo; likewise below.
    pub(super) fn remove_leg(&mut self, pair: &Pair) {
        let _ = self.legs.remove(pair);
        self.have_looked_again();
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = Result<(StreamKey, StreamPlace), MapError>> {
        self.streams.iter()
    }

    /// Full only when there are more streams than places, which there are not.
    pub(super) fn set_stream(&mut self, key: StreamKey, place: StreamPlace) {
        let _ = self.streams.insert(key, place, 0);
        self.have_looked_again();
    }

    pub(super) fn remove_stream(&mut self, key: &StreamKey) {
        let _ = self.streams.remove(key);
        self.have_looked_again();
    }

    /// Has processors ask for all they keep of where streams are.
    fn have_looked_again(&mut self) {
        let changes = self.changes.get(&0, 0).unwrap_or(0);
        let _ = self.changes.set(0, changes.wrapping_add(1), 0);
    }

    /// How often each thing was counted.
    pub(super) fn counts(&self) -> [u64; FAN_COUNTS as usize] {
        std::array::from_fn(|index| {
            let values = self.counts.get(&(index as u32), 0);
            values.map_or(0, |values| values.iter().sum())
        })
    }

    /// Counts of copies made in the driver.
    pub(super) fn traffic(&self) -> Traffic {
        let count = |index| {
            self.counts
                .get(&index, 0)
                .map_or(0, |values| values.iter().sum::<u64>())
        };
        Traffic {
            ordered: count(FAN_ORDERED),
            left: count(FAN_LEFT) + count(FAN_LEFT_AGAIN),
        }
    }

    pub(super) fn next_note(&mut self) -> Option<FanoutNote> {
        let item = self.notes.next()?;
        let (words, _) = item.as_chunks();
        let word = |at: usize| words.get(at).copied().map_or(0, u32::from_ne_bytes);
        Some(FanoutNote {
            kind: word(0),
            replica: word(1),
            source: word(2),
            spatial: word(3),
            temporal: word(4),
            awaits: word(5),
        })
    }

    /// A descriptor that is readable while the log has records.
    pub(super) fn log_fd(&self) -> io::Result<OwnedFd> {
        self.log.as_fd().try_clone_to_owned()
    }

    /// Reads the next record of the log into `bytes`; false where there is none.
    pub(super) fn next_log(&mut self, bytes: &mut Vec<u8>) -> bool {
        let Some(item) = self.log.next() else { return false };
        bytes.clear();
        bytes.extend_from_slice(&item);
        true
    }

    /// Runs the program on a frame. Returns the result and the frame afterwards.
    pub(super) fn try_frame(&mut self, interface: u32, frame: &[u8]) -> Result<(Tried, Vec<u8>), EbpfError> {
        let mut context = [0; CONTEXT];
        context[CONTEXT_INTERFACE..].copy_from_slice(&interface.to_ne_bytes());
        let mut options = TestRunOptions::new();
        options.data_in = Some(frame);
        options.ctx_in = Some(&context);
        let mut out = vec![0; frame.len() + GROWTH];
        options.data_out = Some(&mut out);
        let failed = |error| EbpfError::inside(Step::Load, error);
        let result = self.program()?.test_run(options).map_err(failed)?;
        let len = result.data_size_out as usize;
        out.truncate(len);
        let tried = match result.return_value as i32 {
            NEXT => Tried::Passed,
            REDIRECT => Tried::Redirected,
            _ => Tried::Dropped,
        };
        Ok((tried, out))
    }

    /// Has a frame arrive at an interface, at which the driver's program is.
    pub(super) fn arrive(&mut self, interface: u32, frame: &[u8]) -> Result<(), EbpfError> {
        broadcast::arrive(&mut self.loaded, interface, frame)
    }

    /// The program itself, to be looked at.
    pub(super) fn program(&mut self) -> Result<&mut SchedClassifier, EbpfError> {
        program(&mut self.loaded)
    }
}

/// Writes a value into an array; false where the kernel does not take it.
pub(super) fn set<V: Pod>(array: &mut Array<MapData, V>, at: u32, value: V) -> bool {
    array.set(at, value, 0).is_ok()
}

/// The addresses of a path in the program's form.
pub(super) fn pair(local: SocketAddr, remote: SocketAddr) -> Pair {
    Pair {
        local: words(local.ip()),
        remote: words(remote.ip()),
        local_port: local.port().to_be(),
        remote_port: remote.port().to_be(),
    }
}

fn words(address: IpAddr) -> [u32; 4] {
    let octets = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let (words, _) = octets.as_chunks();
    std::array::from_fn(|word| u32::from_ne_bytes(words[word]))
}

/// A map of the program's that outlives it, as it is to be.
struct Table {
    name: String,
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
}

/// The maps the object has, but for those of the program alone.
fn tables() -> Result<Vec<Table>, EbpfError> {
    let object = Object::parse(OBJECT).map_err(|error| EbpfError::inside(Step::Load, error))?;
    let maps = object.maps.iter();
    // Sections of data have names like `.rodata`.
    let kept = maps.filter(|(name, _)| !name.starts_with('.') && !OF_THIS_PROGRAM.contains(&name.as_str()));
    let table = |(name, map): (&String, &aya_obj::Map)| Table {
        name: name.clone(),
        kind: map.map_type(),
        key: map.key_size(),
        value: map.value_size(),
        entries: map.max_entries(),
    };
    Ok(kept.map(table).collect())
}

/// Whether what is pinned in a folder is what this program would make.
fn fits(folder: &Path, tables: &[Table]) -> bool {
    tables.iter().all(|table| {
        let info = MapData::from_pin(folder.join(&table.name)).and_then(|map| map.info());
        info.is_ok_and(|info| {
            let kind = info.map_type().map(|kind| kind as u32);
            kind.is_ok_and(|kind| kind == table.kind)
                && (info.key_size(), info.value_size(), info.max_entries()) == (table.key, table.value, table.entries)
        })
    })
}

fn load(tables: &[Table], pins: Option<&Pins>, mark: u32) -> Result<Ebpf, EbpfError> {
    let mut loader = EbpfLoader::new();
    loader.override_global("in_driver", &mark, true);
    if let Some(pins) = pins {
        for table in tables {
            loader.map_pin_path(&table.name, pins.table(&table.name));
        }
    }
    let mut loaded = loader
        .load(OBJECT)
        .map_err(|error| EbpfError::inside(Step::Load, error))?;
    let failed = |error: ProgramError| EbpfError::inside(Step::Load, error);
    let program = program(&mut loaded)?;
    unless_interrupted(|| program.load()).map_err(failed)?;
    Ok(loaded)
}

/// Has copies made in the driver, as far as configured and possible.
///
/// Errors: the reason why it is impossible, if only the driver is allowed.
fn broadcast(
    loaded: &mut Ebpf,
    config: &FanoutConfig,
    counts: &PerCpuArray<MapData, u64>,
    mark: u32,
    relays: Option<&mut RelayOffload>,
) -> Result<Result<Broadcast, Option<EbpfError>>, EbpfError> {
    let started = match config.path {
        RoomsPath::Tc => return Ok(Err(None)),
        _ if config.goes_up => Err(EbpfError::GoesUp),
        _ => Broadcast::start(loaded, &config.interfaces, counts, mark, relays),
    };
    match started {
        Err(reason) if config.path == RoomsPath::Xdp => Err(reason),
        started => Ok(started.map_err(Some)),
    }
}

/// Puts the program where an interface's packets arrive, or in the place of an earlier one that is
/// held there by a link pinned at `link`.
fn put(program: &mut SchedClassifier, name: &str, link: Option<&Path>) -> Result<Attached, EbpfError> {
    if_nametoindex(name).map_err(|_| EbpfError::NoInterface(name.to_owned()))?;
    if merging::merges(name).map_err(|error| EbpfError::of(Step::Attach(name.to_owned()), error))? {
        return Err(EbpfError::Merges(name.to_owned()));
    }
    attach::attach(program, name, link, |program| {
        Ok((program.attach(name, TcAttachType::Ingress)?, Attached::Stack))
    })
}

fn program(loaded: &mut Ebpf) -> Result<&mut SchedClassifier, EbpfError> {
    let program = loaded.program_mut("fan_out").expect("the object has it");
    program.try_into().map_err(|error| EbpfError::inside(Step::Load, error))
}
