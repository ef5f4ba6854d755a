//! Forwarding by the kernel, in front of the data plane that takes every entry.
//!
//! By default it is tried only if SIP proxies are served, and only for relays of their calls. A
//! reason against it is no error: it is logged, and shown in `/metrics` and by `weir inspect`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use backend_ebpf::{
    Attached, EbpfError, Fanout, FanoutConfig, Hook, RelayConfig, RelayOffload, Step, detach_rooms, families_of_none,
    interfaces_with, is_loopback,
};
use dataplane::{Family, Statistics};
use layered::Offloads;
use operator::Place;
use serde::Deserialize;
use tracing::{info, warn};

use super::{Base, Calls, Offload, Wake};
use crate::os::clock;

/// Settings of forwarding in the kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// The interfaces on which packets are looked at; if none is named, those that have the
    /// addresses of SIP calls, and the loopback.
    pub interfaces: Vec<String>,
    /// Whether rooms without encryption are copied in the kernel, too.
    pub rooms: Rooms,
    /// Their place in the kernel.
    pub rooms_path: KernelPath,
    /// How many relays the kernel may have.
    pub relays_max: u32,
    /// Their place in the kernel.
    pub relays_path: KernelPath,
    /// The folder of a BPF file system in which entries and programs outlive the process; empty is
    /// none.
    pub pins: PathBuf,
    /// How long entries that were found there may stay without being ordered again, in seconds.
    pub keep: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            interfaces: Vec::new(),
            rooms: Rooms::None,
            rooms_path: KernelPath::Auto,
            relays_max: 16_384,
            relays_path: KernelPath::Auto,
            pins: PathBuf::from("/sys/fs/bpf/weir"),
            keep: 60,
        }
    }
}

/// Rooms in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rooms {
    /// None.
    #[default]
    None,
    /// Their packets also go to userspace, which reports their arrivals and active speakers.
    CopyAndPass,
    /// Userspace sees nothing of what is copied.
    Copy,
}

/// The place in the kernel where packets are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KernelPath {
    /// In the driver where all interfaces can, otherwise in the stack.
    #[default]
    Auto,
    /// In the stack.
    Tc,
    /// In the driver. If that is impossible, rooms are left to sockets, and relays run in
    /// generic XDP.
    Xdp,
}

/// The kernel as operators see it if it forwards nothing: the reason.
struct Absent(String);

impl Statistics for Absent {
    fn families(&self) -> Vec<Family> {
        families_of_none(&self.0)
    }

    fn places(&self) -> Vec<Place> {
        vec![Place::Sockets {
            reason: Some(self.0.clone()),
        }]
    }
}

/// The offloads, and those that could not be started, as operators see them.
type Started = (Offloads, Vec<Arc<dyn Statistics>>);

/// No offload, for this reason.
pub(super) fn none(reason: impl Into<String>) -> Started {
    (Offloads::default(), vec![Arc::new(Absent(reason.into()))])
}

/// Starts what is wanted of the kernel and can be.
pub(super) fn start(settings: &super::Settings, calls: Option<&Calls>, wake: Wake) -> Started {
    let is_asked_for = settings.offload == Offload::Ebpf;
    if calls.is_none() && !is_asked_for {
        return none("no calls are relayed: there is no section sip");
    }
    let (mut relays, pins) = match start_relays(relay_config(settings, calls)) {
        Ok(started) => started,
        Err(reason) => {
            match is_asked_for {
                false => info!(%reason, "calls are relayed by sockets, not by the kernel"),
                true => warn!(%reason, "no forwarding in the kernel"),
            }
            return none(reason.to_string());
        }
    };
    let mut offloads = Offloads::default();
    if is_asked_for {
        let found = relays.found().iter().map(|found| found.interface.clone());
        let wires = found.filter(|name| !is_loopback(name)).collect();
        if let Some(rooms) = start_rooms(&settings.ebpf, wires, pins, &mut relays, wake) {
            offloads.replicas.push(Box::new(rooms));
        }
    }
    offloads.relays.push(Box::new(relays));
    (offloads, Vec::new())
}

/// Takes programs off interfaces, and frees what they kept in this folder.
pub(crate) fn detach(pins: &Path) -> io::Result<()> {
    backend_ebpf::detach(pins)
}

/// How relays are to be in the kernel.
fn relay_config(settings: &super::Settings, calls: Option<&Calls>) -> RelayConfig {
    let ebpf = &settings.ebpf;
    let is_asked_for = settings.offload == Offload::Ebpf;
    let interfaces = match is_asked_for && !ebpf.interfaces.is_empty() {
        true => ebpf.interfaces.clone(),
        false => found_interfaces(settings, calls),
    };
    // Forwarding that was not configured ends with the process, unless calls are to outlive it.
    let is_kept = is_asked_for || calls.is_some_and(|calls| calls.outlive);
    let pins = Some(ebpf.pins.clone()).filter(|pins| is_kept && !pins.as_os_str().is_empty());
    RelayConfig {
        interfaces,
        hook: match ebpf.relays_path {
            // A place that saves little may cost others something.
            KernelPath::Auto if !is_asked_for => Hook::WithoutGeneric,
            KernelPath::Auto => Hook::Auto,
            KernelPath::Tc => Hook::Tc,
            KernelPath::Xdp => Hook::Xdp,
        },
        relays_max: ebpf.relays_max,
        pins,
        keep: Duration::from_secs(ebpf.keep),
        ..RelayConfig::default()
    }
}

/// The interfaces at which packets of calls arrive: those with the relays' addresses, and the
/// loopback for parties on this machine.
fn found_interfaces(settings: &super::Settings, calls: Option<&Calls>) -> Vec<String> {
    let addresses = calls.map_or(&[][..], |calls| &calls.addresses);
    let mut interfaces = interfaces_with(addresses);
    if settings.base == Base::Afxdp {
        interfaces.retain(|name| !settings.afxdp.interfaces.contains(name));
    }
    interfaces
}

/// Relays in the kernel, with those an earlier process left, and the folder of their pins. If they
/// cannot be pinned, they run for this process alone.
fn start_relays(mut relays: RelayConfig) -> Result<(RelayOffload, Option<PathBuf>), EbpfError> {
    let offload = match RelayOffload::start(&relays, clock::now()) {
        Err(reason @ (EbpfError::Failed(Step::Pin(_), _) | EbpfError::NotAllowed(Step::Pin(_)))) => {
            warn!(%reason, "forwarding in the kernel ends with this process");
            relays.pins = None;
            RelayOffload::start(&relays, clock::now())?
        }
        started => started?,
    };
    for found in offload.found() {
        info!(interface = %found, relays = offload.relays(), "forwarding in the kernel");
        if found.attached == Attached::Generic {
            warn!(
                interface = found.interface,
                "its driver knows no XDP: relaying in the kernel will save little"
            );
        }
    }
    Ok((offload, relays.pins))
}

/// Rooms in the kernel, if configured and possible, with those an earlier process left.
fn start_rooms(
    config: &Settings,
    interfaces: Vec<String>,
    pins: Option<PathBuf>,
    relays: &mut RelayOffload,
    wake: Wake,
) -> Option<Fanout> {
    let goes_up = match config.rooms {
        Rooms::None => return end_rooms(pins),
        Rooms::CopyAndPass => true,
        Rooms::Copy => false,
    };
    let config = FanoutConfig {
        interfaces,
        goes_up,
        path: match config.rooms_path {
            KernelPath::Auto => backend_ebpf::RoomsPath::Auto,
            KernelPath::Tc => backend_ebpf::RoomsPath::Tc,
            KernelPath::Xdp => backend_ebpf::RoomsPath::Xdp,
        },
        pins,
        keep: Duration::from_secs(config.keep),
    };
    let mut rooms = Fanout::start_behind(relays, &config, clock::now())
        .inspect_err(|reason| warn!(%reason, "no rooms in the kernel"))
        .ok()?;
    if let Err(reason) = rooms.wake_with(wake) {
        warn!(%reason, "arrivals in the kernel are noticed late");
    }
    for found in rooms.found() {
        info!(interface = %found, streams = rooms.unconfirmed(), copies = %rooms.copies(), "rooms in the kernel");
    }
    Some(rooms)
}

/// Rooms in the kernel are no longer configured, so the entries that an earlier process left are
/// removed.
fn end_rooms(pins: Option<PathBuf>) -> Option<Fanout> {
    if let Err(reason) = pins.map_or(Ok(()), |pins| detach_rooms(&pins)) {
        warn!(%reason, "rooms that an earlier process left stay in the kernel");
    }
    None
}
