//! Which data plane moves packets.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backend_afxdp::{AfxdpConfig, AfxdpPlane};
use backend_ebpf::{
    Attached, Both, EbpfError, Fanout, FanoutConfig, Hook, RelayConfig, RelayOffload, Step, take_down_rooms,
};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane};
use layered::Layered;
use tracing::{info, warn};

use crate::clock;
use crate::config::{Config, Dataplane, Ebpf, KernelPath, Offload, Rooms};
use crate::metrics::{Metrics, Offloaded};

/// So many connections are one worker's while few are connected: a few meetings.
const FEW_LEGS: usize = 64;

/// Starts what the operator wants. What this machine cannot have is no reason not to serve: sockets do the same, only slower.
pub fn open(
    config: &Config,
    clock: Clock,
    waker: Arc<dyn Fn() + Send + Sync>,
    metrics: &Metrics,
) -> Result<Box<dyn DataPlane + Send>, Box<dyn Error>> {
    let base = base(config, clock, waker.clone(), metrics)?;
    match config.rtc.offload {
        Offload::None => Ok(base),
        Offload::Ebpf => match kernel(&config.rtc.ebpf) {
            Ok((mut relays, pins)) => {
                let statistics = relays.statistics();
                let rooms = rooms(&config.rtc.ebpf, pins, &mut relays, waker);
                let (relays_at, copies_at) = (relays.path(), rooms.as_ref().map(Fanout::copies_at));
                let plane = Layered::new(base, Both::new(relays, rooms));
                metrics.watch_offload(Offloaded {
                    statistics,
                    places: plane.places(),
                    relays: relays_at,
                    rooms: copies_at,
                });
                Ok(Box::new(plane))
            }
            Err(reason) => {
                warn!(%reason, "no forwarding in the kernel");
                Ok(base)
            }
        },
    }
}

/// What can do everything.
fn base(
    config: &Config,
    clock: Clock,
    waker: Arc<dyn Fn() + Send + Sync>,
    metrics: &Metrics,
) -> Result<Box<dyn DataPlane + Send>, Box<dyn Error>> {
    let addresses = config.bind.iter();
    let udp = UdpConfig {
        addresses: addresses
            .map(|address| SocketAddr::new(*address, config.rtc.port))
            .collect(),
        workers: config.rtc.workers,
        coalesce: config.rtc.coalesce,
        gather: FEW_LEGS,
        precedence: precedence(config),
        ..UdpConfig::default()
    };
    match config.rtc.dataplane {
        Dataplane::Udp => {}
        Dataplane::Afxdp => match rings(config, udp.clone(), clock, waker.clone()) {
            Ok(plane) => {
                metrics.watch_rings(plane.statistics());
                return Ok(Box::new(plane));
            }
            Err(reason) => warn!(%reason, "no AF_XDP, packets go through sockets"),
        },
    }
    let plane = UdpPlane::start(udp, clock, waker)
        .map_err(|error| format!("cannot open UDP port {}: {error}", config.rtc.port))?;
    Ok(Box::new(plane))
}

/// Whether workers are to go before others on the machine, and may.
fn precedence(config: &Config) -> bool {
    let is_wanted = config.rtc.precedence;
    let is_permitted = is_wanted && UdpPlane::may_go_first();
    if is_wanted && !is_permitted {
        info!("workers take turns with other programs: precedence needs root, CAP_SYS_NICE or LimitRTPRIO=1");
    }
    is_permitted
}

/// Relays in the kernel, with what an earlier process left of them, and where they are kept. Where nothing can be kept, for this process alone.
fn kernel(config: &Ebpf) -> Result<(RelayOffload, Option<PathBuf>), EbpfError> {
    let mut relays = RelayConfig {
        interfaces: config.interfaces.clone(),
        hook: match config.relays_path {
            KernelPath::Auto => Hook::Auto,
            KernelPath::Tc => Hook::Tc,
            KernelPath::Xdp => Hook::Xdp,
        },
        relays_max: config.relays_max,
        pins: Some(config.pins.clone()).filter(|pins| !pins.as_os_str().is_empty()),
        keep: Duration::from_secs(config.keep),
        ..RelayConfig::default()
    };
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

/// Rooms in the kernel, where they are wanted and can be, with what an earlier process left of them.
fn rooms(
    config: &Ebpf,
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
        interfaces: config.interfaces.clone(),
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

fn rings(
    config: &Config,
    udp: UdpConfig,
    clock: Clock,
    waker: Arc<dyn Fn() + Send + Sync>,
) -> Result<AfxdpPlane, backend_afxdp::AfxdpError> {
    let interfaces = config.rtc.afxdp.interfaces.clone();
    let plane = AfxdpPlane::start(AfxdpConfig { udp, interfaces }, clock, waker)?;
    for found in plane.found() {
        info!(interface = %found, "AF_XDP");
    }
    Ok(plane)
}
