//! Forwarding by the kernel, in front of the data plane that takes every entry.
//!
//! By default that is only tried where SIP proxies are served, and only for relays of their calls.
//! Whatever is in the way is no error: it is logged, and stands in `/metrics` and in what `weir
//! inspect` tells.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backend_ebpf::{
    Attached, Both, EbpfError, Fanout, FanoutConfig, Hook, RelayConfig, RelayOffload, Step, interfaces_with,
    is_loopback, take_down_rooms,
};
use dataplane::DataPlane;
use layered::Layered;
use tracing::{info, warn};

use crate::clock;
use crate::config::{Config, Dataplane, Ebpf, KernelPath, Offload, Rooms};
use crate::metrics::{Metrics, Offloaded};

/// Puts the kernel in front of a data plane, as far as that is wanted and can be.
pub(super) fn put_before(
    base: Box<dyn DataPlane + Send>,
    config: &Config,
    waker: Arc<dyn Fn() + Send + Sync>,
    metrics: &Metrics,
) -> Box<dyn DataPlane + Send> {
    let wanted = match (config.rtc.offload, &config.sip) {
        (Offload::None, _) => Err("rtc.offload is none".to_owned()),
        (Offload::Auto, None) => Err("no calls are relayed: there is no section sip".to_owned()),
        (Offload::Auto | Offload::Ebpf, _) => Ok(relay_config(config)),
    };
    let started = wanted.and_then(|wanted| relays(wanted).map_err(|reason| reason.to_string()));
    let (mut relays, pins) = match started {
        Ok(started) => started,
        Err(reason) => {
            match config.rtc.offload {
                Offload::None => {}
                Offload::Auto if config.sip.is_none() => {}
                Offload::Auto => info!(reason, "calls are relayed by sockets, not by the kernel"),
                Offload::Ebpf => warn!(reason, "no forwarding in the kernel"),
            }
            metrics.no_offload(reason);
            return base;
        }
    };
    let rooms = match config.rtc.offload {
        Offload::Ebpf => {
            let found = relays.found().iter().map(|found| found.interface.clone());
            let wires = found.filter(|name| !is_loopback(name)).collect();
            rooms(&config.rtc.ebpf, wires, pins, &mut relays, waker)
        }
        Offload::Auto | Offload::None => None,
    };
    let watched = (
        relays.statistics(),
        relays.whereabouts(),
        rooms.as_ref().map(Fanout::copies_at),
    );
    let plane = Layered::new(base, Both::new(relays, rooms));
    let (statistics, relays, rooms) = watched;
    metrics.watch_offload(Offloaded {
        statistics,
        places: plane.places(),
        relays,
        rooms,
    });
    Box::new(plane)
}

/// How relays are to be in the kernel.
fn relay_config(config: &Config) -> RelayConfig {
    let ebpf = &config.rtc.ebpf;
    let is_asked_for = config.rtc.offload == Offload::Ebpf;
    let interfaces = match is_asked_for && !ebpf.interfaces.is_empty() {
        true => ebpf.interfaces.clone(),
        false => found_interfaces(config),
    };
    // What nobody has asked for ends with the process, unless calls are to outlive it.
    let is_kept = is_asked_for || config.sip.as_ref().is_some_and(|sip| sip.state.is_some());
    let pins = Some(ebpf.pins.clone()).filter(|pins| is_kept && !pins.as_os_str().is_empty());
    RelayConfig {
        interfaces,
        hook: match ebpf.relays_path {
            // What saves little may cost others something.
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
fn found_interfaces(config: &Config) -> Vec<String> {
    let addresses = config.sip.iter().flat_map(|sip| &sip.interfaces);
    let addresses: Vec<_> = addresses.map(|interface| interface.address).collect();
    let mut interfaces = interfaces_with(&addresses);
    if config.rtc.dataplane == Dataplane::Afxdp {
        interfaces.retain(|name| !config.rtc.afxdp.interfaces.contains(name));
    }
    interfaces
}

/// Relays in the kernel, with what an earlier process left of them, and where they are kept. Where
/// nothing can be kept, for this process alone.
fn relays(mut relays: RelayConfig) -> Result<(RelayOffload, Option<PathBuf>), EbpfError> {
    let offload = match RelayOffload::start(&relays, clock::now()) {
        Err(reason @ (EbpfError::Failed(Step::Pin(_), _) | EbpfError::NotAllowed(Step::Pin(_)))) => {
            warn!(%reason, "what the kernel forwards ends with this process");
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

/// Rooms in the kernel, where they are wanted and can be, with what an earlier process left of
/// them.
fn rooms(
    config: &Ebpf,
    interfaces: Vec<String>,
    pins: Option<PathBuf>,
    relays: &mut RelayOffload,
    waker: Arc<dyn Fn() + Send + Sync>,
) -> Option<Fanout> {
    let goes_up = match config.rooms {
        Rooms::None => return end_rooms(pins),
        Rooms::Seen => true,
        Rooms::Unseen => false,
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
    if let Err(reason) = rooms.wake_with(waker) {
        warn!(%reason, "what arrives in the kernel is noticed late");
    }
    for found in rooms.found() {
        info!(interface = %found, streams = rooms.unconfirmed(), copies = %rooms.copies(), "rooms in the kernel");
    }
    Some(rooms)
}

/// Nobody wants rooms there any more, so that what an earlier process left goes now.
fn end_rooms(pins: Option<PathBuf>) -> Option<Fanout> {
    if let Err(reason) = pins.map_or(Ok(()), |pins| take_down_rooms(&pins)) {
        warn!(%reason, "rooms that an earlier process left stay in the kernel");
    }
    None
}
