//! Which data plane moves packets.

mod offload;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use backend_afxdp::{AfxdpConfig, AfxdpPlane};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane};
use tracing::{info, warn};

use crate::config::{Config, Dataplane};
use crate::metrics::Metrics;

/// So many connections are one worker's while few are connected: a few meetings.
const FEW_LEGS: usize = 64;

/// Starts what the operator wants. What this machine cannot have is no reason not to serve: sockets
/// do the same, only slower.
pub fn open(
    config: &Config,
    clock: Clock,
    waker: Arc<dyn Fn() + Send + Sync>,
    metrics: &Metrics,
) -> Result<Box<dyn DataPlane + Send>, Box<dyn Error>> {
    let base = base(config, clock, waker.clone(), metrics)?;
    Ok(offload::put_before(base, config, waker, metrics))
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
        pack_legs: FEW_LEGS,
        realtime_workers: precedence(config),
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
    let is_permitted = is_wanted && UdpPlane::may_run_realtime();
    if is_wanted && !is_permitted {
        info!("workers take turns with other programs: precedence needs root, CAP_SYS_NICE or LimitRTPRIO=1");
    }
    is_permitted
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
