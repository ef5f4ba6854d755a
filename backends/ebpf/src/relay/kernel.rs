//! The relay program in the kernel: loaded, attached, its tables.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aya::maps::xdp::DevMapHash;
use aya::maps::{Array, HashMap, MapData, PerCpuArray, PerCpuValues, ProgramArray};
use aya::programs::{ProgramFd, ProgramInfo};
use aya::util::nr_cpus;
use aya::{Ebpf, EbpfLoader, include_bytes_aligned};
use bpf_retry::reason;
use nix::net::if_::if_nametoindex;
use nix::time::{ClockId, clock_getres};

use super::counter::Statistics;
use super::hook::{self, Place};
use super::letting_go::Trial;
use super::table::Tables;
use super::{Attachment, RelayConfig, Tried, trial};
use crate::layout::relay as layout;
use crate::layout::relay::{Endpoint, Traffic};
use crate::maps::take;
use crate::pins::Pins;
use crate::{EbpfError, Step, look_ups};

/// `program/relay/relay.bpf.c`, compiled.
static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/relay.bpf.o"));

/// The offset of a frame's IP header.
const IP: usize = 14;

/// The program's tables, by name.
const TABLES: [&str; 6] = ["relays", "versions", "traffics", "counts", "clocks", "interfaces"];

/// The most lines of a processor's cache of the tables, each 128 bytes for an entry and 80 for a
/// way.
const KEPT_MAX: u32 = 16_384;

/// How long a way out may be taken until it is looked up again.
const WAY_FRESH: Duration = Duration::from_millis(100);

/// The program, on its interfaces. Without pins it is detached when this is dropped or the process
/// dies.
pub(super) struct Kernel {
    pub(super) loaded: Ebpf,
    place: Place,
    relays: HashMap<MapData, Endpoint, layout::Relay>,
    versions: Array<MapData, u32>,
    /// How often a version was changed. The program's own, so never pinned.
    changes: Array<MapData, u32>,
    traffics: PerCpuArray<MapData, Traffic>,
    clocks: Array<MapData, layout::Clock>,
    tick: Duration,
    /// The program for packets of no relay. It ends with the process, and so does its forwarding.
    behind: ProgramArray<MapData>,
    statistics: Statistics,
    trial: Trial,
    /// Programs that are loaded later name it by its descriptor.
    _ways_out: DevMapHash<MapData>,
    pins: Option<Pins>,
}

impl Kernel {
    /// Puts the program on its interfaces, with the tables that are pinned if there are any.
    pub(super) fn start(config: &RelayConfig) -> Result<(Self, Vec<Attachment>), EbpfError> {
        look_ups::allow(config.pins.as_deref()).map_err(|error| EbpfError::of(Step::Forwarding, error))?;
        let pins = config.pins.as_deref();
        let folder = format!("relay-{}", layout::RELAY_LAYOUT);
        let open = |parent| Pins::open(parent, &folder, |folder| fits(folder, config.relays_max));
        let pins = pins.map(open).transpose()?;
        let mut loaded = load(config, pins.as_ref())?;
        let interfaces = numbers(&config.interfaces)?;
        let mut ways_out = take(&mut loaded, "interfaces")?;
        write_interfaces(&mut ways_out, &interfaces)?;
        let relays = take(&mut loaded, "relays")?;
        let versions = take(&mut loaded, "versions")?;
        let changes = take(&mut loaded, ".bss")?;
        let traffics = take(&mut loaded, "traffics")?;
        let clocks = take(&mut loaded, "clocks")?;
        let counts = take(&mut loaded, "counts")?;
        let behind = take(&mut loaded, "behind")?;
        let mut trial = Trial::new(take(&mut loaded, "tried")?, take(&mut loaded, "let_go")?);
        let (place, found) = hook::attach(&mut loaded, config.hook, &config.interfaces, &mut trial, pins.as_ref())?;
        let kernel = Kernel {
            loaded,
            place,
            relays,
            versions,
            changes,
            traffics,
            clocks,
            tick: tick(),
            behind,
            statistics: Statistics(Arc::new(counts)),
            trial,
            _ways_out: ways_out,
            pins,
        };
        Ok((kernel, found))
    }

    /// Tests from time to time that drivers still send the program's packets. If one does not, all
    /// packets are handled in the stack from then on.
    pub(super) fn look_after(&mut self, now: Instant, found: &mut [Attachment]) -> bool {
        if self.place != Place::Driver || !self.trial.is_due(now) {
            return false;
        }
        let Err(why) = self.trial.on_all(&mut self.loaded, found) else {
            return false;
        };
        self.place = Place::Stack;
        if let Err(error) = hook::move_to_stack(&mut self.loaded, found, &why, self.pins.as_ref()) {
            found
                .iter_mut()
                .for_each(|found| found.why_not = Some(error.to_string()));
        }
        true
    }

    /// Runs another program after this one.
    pub(super) fn lead_on(&mut self, next: &ProgramFd) -> Result<(), EbpfError> {
        self.behind
            .set(0, next, 0)
            .map_err(|error| EbpfError::inside(Step::Tables, error))
    }

    pub(super) fn statistics(&self) -> Statistics {
        self.statistics.clone()
    }

    /// When this was the low half of the kernel's ticks, in nanoseconds of the monotonic clock: the
    /// time nearest to now. With a thousand ticks a second that is less than 25 days ago.
    pub(super) fn nanoseconds(&self, ticks: u32) -> Option<u64> {
        let clock = self.clocks.get(&0, 0).ok()?;
        let tick = self.tick.as_nanos() as u64;
        let after = i64::from(ticks.wrapping_sub(clock.ticks as u32) as i32);
        let after = after.saturating_mul(tick as i64);
        Some(clock.nanoseconds.saturating_add_signed(after))
    }

    /// Invalidates cached entries of this slot; returns the version of the new entry.
    fn next_version(&mut self, slot: u32) -> io::Result<u32> {
        let next = self.versions.get(&slot, 0).map_err(reason)?.wrapping_add(1);
        self.versions.set(slot, next, 0).map_err(reason)?;
        let changes = self.changes.get(&0, 0).map_err(reason)?;
        self.changes.set(0, changes.wrapping_add(1), 0).map_err(reason)?;
        Ok(next)
    }

    /// All relays in the kernel.
    pub(super) fn relays(&self) -> Result<Vec<(SocketAddr, layout::Relay)>, EbpfError> {
        let entries = self
            .relays
            .iter()
            .map(|entry| entry.map(|(at, relay)| (at.into(), relay)));
        entries
            .collect::<Result<_, _>>()
            .map_err(|error| EbpfError::inside(Step::Tables, error))
    }

    /// Runs the program on a frame, on no interface.
    pub(super) fn try_frame(&mut self, interface: u32, frame: &[u8]) -> Result<(Tried, Vec<u8>), EbpfError> {
        let (tried, out, _) = self.run(interface, frame, 1)?;
        Ok((tried, out))
    }

    pub(super) fn time_frame(&mut self, interface: u32, frame: &[u8], times: u32) -> Result<Duration, EbpfError> {
        let (_, out, took) = self.run(interface, frame, times)?;
        // A frame that changed would be another packet in the second run.
        assert_eq!(out[IP..], frame[IP..], "the frame leaves as it came");
        Ok(took)
    }

    fn run(&mut self, interface: u32, frame: &[u8], times: u32) -> Result<(Tried, Vec<u8>, Duration), EbpfError> {
        trial::run(&mut self.loaded, self.place, interface, frame, times)
    }

    /// The program as the kernel has it.
    pub(super) fn info(&self) -> Result<ProgramInfo, EbpfError> {
        let program = self.loaded.program(self.place.program()).expect("the object has it");
        program.info().map_err(|error| EbpfError::inside(Step::Load, error))
    }
}

impl Tables for Kernel {
    fn insert(&mut self, at: SocketAddr, relay: &layout::Relay) -> io::Result<()> {
        // The version is written first, so that no processor caches the entry that is replaced.
        let version = self.next_version(relay.slot)?;
        let relay = layout::Relay { version, ..*relay };
        self.relays.insert(Endpoint::from(at), relay, 0).map_err(reason)
    }

    fn remove(&mut self, at: SocketAddr, slot: u32) -> io::Result<()> {
        self.next_version(slot)?;
        self.relays.remove(&Endpoint::from(at)).map_err(reason)
    }

    fn traffic(&self, slot: u32) -> io::Result<Traffic> {
        let values = self.traffics.get(&slot, 0).map_err(reason)?;
        Ok(values.iter().fold(Traffic::default(), sum))
    }

    fn is_ours(&self, ip: IpAddr) -> bool {
        UdpSocket::bind((ip, 0)).is_ok()
    }

    fn clear(&mut self, slot: u32) -> io::Result<()> {
        let processors = nr_cpus().map_err(|(_, error)| error)?;
        let values = PerCpuValues::try_from(vec![Traffic::default(); processors])?;
        self.traffics.set(slot, values, 0).map_err(reason)
    }
}

/// The counts of two processors together, with the time and the SSRC of the later packet.
fn sum(one: Traffic, other: &Traffic) -> Traffic {
    let is_later = other.last.wrapping_sub(one.last) as i32 > 0;
    let later = match other.packets > 0 && (one.packets == 0 || is_later) {
        true => other,
        false => &one,
    };
    Traffic {
        packets: one.packets + other.packets,
        bytes: one.bytes + other.bytes,
        dropped: one.dropped + other.dropped,
        last: later.last,
        ssrc: later.ssrc,
    }
}

/// How long the kernel's ticks are.
fn tick() -> Duration {
    let resolution = clock_getres(ClockId::CLOCK_MONOTONIC_COARSE).expect("every system has this clock");
    Duration::from(resolution)
}

fn load(config: &RelayConfig, pins: Option<&Pins>) -> Result<Ebpf, EbpfError> {
    let mut loader = EbpfLoader::new();
    loader.map_max_entries("relays", config.relays_max);
    loader.map_max_entries("versions", config.relays_max);
    loader.map_max_entries("traffics", config.relays_max);
    let confirm_every = u64::try_from(config.confirm.as_nanos()).unwrap_or(u64::MAX);
    loader.override_global("confirm_every", &confirm_every, true);
    let fresh_for = WAY_FRESH.div_duration_f64(tick()).ceil() as u64;
    loader.override_global("fresh_for", &fresh_for, true);
    let kept = config.relays_max.next_power_of_two().min(KEPT_MAX);
    let processors = nr_cpus().map_err(|(_, error)| EbpfError::of(Step::Tables, error))?;
    let lines = kept.saturating_mul(processors as u32);
    loader.map_max_entries("lines", lines).map_max_entries("ways", kept);
    let kept_mask = kept - 1;
    loader.override_global("kept_mask", &kept_mask, true);
    if let Some(pins) = pins {
        for name in TABLES {
            loader.map_pin_path(name, pins.table(name));
        }
    }
    loader
        .load(OBJECT)
        .map_err(|error| EbpfError::inside(Step::Load, error))
}

fn numbers(names: &[String]) -> Result<Vec<u32>, EbpfError> {
    if names.is_empty() || names.len() > layout::INTERFACES_MAX as usize {
        return Err(EbpfError::Interfaces);
    }
    let number = |name: &String| if_nametoindex(name.as_str()).map_err(|_| EbpfError::NoInterface(name.clone()));
    names.iter().map(number).collect()
}

/// Allows packets to be sent through these interfaces and no others.
fn write_interfaces(map: &mut DevMapHash<MapData>, numbers: &[u32]) -> Result<(), EbpfError> {
    let mut write = || {
        let before: Vec<u32> = map.keys().collect::<Result<_, _>>()?;
        for gone in before.iter().filter(|number| !numbers.contains(number)) {
            map.remove(*gone)?;
        }
        // An existing entry stays: replacing it would leave a moment without one.
        for number in numbers.iter().filter(|number| !before.contains(number)) {
            map.insert(*number, *number, None, 0).map_err(io::Error::other)?;
        }
        Ok::<(), aya::maps::MapError>(())
    };
    write().map_err(|error| EbpfError::inside(Step::Tables, error))
}

/// Whether the tables in a folder are what this program would make.
fn fits(folder: &Path, relays_max: u32) -> bool {
    let wanted = [
        (size_of::<Endpoint>(), size_of::<layout::Relay>(), relays_max),
        (4, 4, relays_max),
        (4, size_of::<Traffic>(), relays_max),
        (4, 8, layout::RELAY_COUNTS),
        (4, size_of::<layout::Clock>(), 1),
        (4, 8, layout::INTERFACES_MAX),
    ];
    TABLES.iter().zip(wanted).all(|(name, (key, value, entries))| {
        let info = MapData::from_pin(folder.join(name)).and_then(|map| map.info());
        info.is_ok_and(|info| {
            (info.key_size(), info.value_size(), info.max_entries()) == (key as u32, value as u32, entries)
        })
    })
}
