//! Which data plane moves packets.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use backend_afxdp::{AfxdpConfig, AfxdpPlane};
use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane};
use tracing::{info, warn};

use crate::config::{Config, Dataplane};
use crate::metrics::Metrics;

/// Starts the one the operator wants. One that this machine cannot have is no reason not to serve: sockets do the same, only slower.
pub fn open(
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
