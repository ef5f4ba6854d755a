//! The data plane: a base that takes every entry, and offloads in front of it that take the entries
//! they can.
//!
//! A back end is one folder under `backends` and one `match` arm here. A module below this one has
//! its settings and starts it. The rest of the program knows it as a [`DataPlane`], and shows its
//! [`Statistics`].

pub(crate) mod afxdp;
pub(crate) mod ebpf;
mod media_ports;
pub(crate) mod p4;

use std::error::Error;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use backend_udp::{UdpConfig, UdpPlane};
use dataplane::{Clock, DataPlane, Statistics};
use layered::{AnyPlane, Offloads};
pub(crate) use media_ports::MediaPorts;
use serde::Deserialize;
use tracing::{info, warn};

use crate::os::port_owner::Transport;
use crate::os::refused;

/// So many connections are one worker's while few are connected: a few meetings.
const FEW_LEGS: usize = 64;

/// Called whenever there is something to poll.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The choices of an operator.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Worker threads.
    pub workers: usize,
    /// The UDP ports of media.
    pub ports: MediaPorts,
    /// How long workers wait for more packets after the first; zero for not at all.
    pub coalesce: Duration,
    /// Whether lightly loaded workers run at real-time priority.
    pub realtime_workers: bool,
    /// The TCP port, if there is to be one.
    pub tcp: Option<TcpPort>,
    /// The base.
    pub base: Base,
    /// Settings of AF_XDP.
    pub afxdp: afxdp::Settings,
    /// The offload.
    pub offload: Offload,
    /// Settings of forwarding in the kernel.
    pub ebpf: ebpf::Settings,
    /// Settings of forwarding by a switch.
    pub p4: Option<p4::Settings>,
}

/// A TCP port for media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpPort {
    /// Its number.
    pub port: u16,
    /// Whether the operator named it. If not, the server runs without it where it is taken.
    pub is_named: bool,
}

/// The bases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Base {
    /// Sockets, which always work.
    #[default]
    Udp,
    /// AF_XDP rings on some interfaces, and sockets beside them; sockets alone if that cannot be.
    Afxdp,
}

/// The offloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Offload {
    /// None.
    None,
    /// If SIP proxies are served and this machine allows it, the kernel relays calls that need no
    /// key.
    #[default]
    Auto,
    /// The kernel, on some interfaces, relays what needs no key; if that cannot be, nothing does.
    Ebpf,
    /// A P4 switch between the clients and this host.
    P4,
}

/// The calls of SIP proxies that are to be relayed.
#[derive(Debug)]
pub(crate) struct Calls {
    /// The addresses they use.
    pub addresses: Vec<IpAddr>,
    /// Whether they are to outlive the process.
    pub outlive: bool,
}

/// A data plane that runs.
pub(crate) struct Opened {
    /// The data plane.
    pub plane: AnyPlane,
    /// The TCP port that is open for media.
    pub tcp_port: Option<u16>,
    /// Its parts as operators see them, and those that could not be started.
    pub statistics: Vec<Arc<dyn Statistics>>,
}

/// Starts what the operator wants on these addresses. A part this machine cannot have is no reason
/// not to serve: sockets do the same, only slower.
///
/// Errors: not even sockets can be had.
pub(crate) fn open(
    settings: &Settings,
    addresses: &[IpAddr],
    calls: Option<&Calls>,
    clock: Clock,
    wake: Wake,
) -> Result<Opened, Box<dyn Error>> {
    let tcp_port = tcp_port(settings.tcp, addresses);
    let base = open_base(settings, addresses, tcp_port, clock, wake.clone())?;
    let (offloads, absent) = match settings.offload {
        Offload::None => ebpf::none("rtc.offload is none"),
        Offload::Auto | Offload::Ebpf => ebpf::start(settings, calls, wake),
        Offload::P4 => start_switch(settings, wake),
    };
    Ok(Opened {
        tcp_port,
        ..compose(base, offloads, absent)
    })
}

/// Starts the driver of the switch, whether the switch is there or not.
fn start_switch(settings: &Settings, wake: Wake) -> (Offloads, Vec<Arc<dyn Statistics>>) {
    let Some(switch) = &settings.p4 else {
        return ebpf::none("rtc.offload is p4, and rtc.p4 names no switch");
    };
    match p4::start(switch, wake) {
        Ok(offloads) => (offloads, Vec::new()),
        Err(reason) => {
            warn!(%reason, "no forwarding by a switch");
            ebpf::none(reason.to_string())
        }
    }
}

/// Puts offloads in front of a base, and together what operators see of them.
fn compose(base: AnyPlane, offloads: Offloads, absent: Vec<Arc<dyn Statistics>>) -> Opened {
    let plane = offloads.in_front_of(base);
    let mut statistics = plane.statistics();
    statistics.extend(absent);
    Opened {
        plane,
        tcp_port: None,
        statistics,
    }
}

/// The TCP port to open on these addresses. One that nobody named is left out where another program
/// has it.
fn tcp_port(wanted: Option<TcpPort>, addresses: &[IpAddr]) -> Option<u16> {
    let TcpPort { port, is_named } = wanted?;
    // A machine without IPv6 needs only the IPv4 port.
    let exists = |address: &&IpAddr| address.is_ipv4() || UdpSocket::bind((**address, 0)).is_ok();
    let existing = addresses.iter().filter(exists);
    let mut tried = existing.map(|address| TcpListener::bind((*address, port)));
    match tried.find_map(Result::err) {
        Some(error) if !is_named => {
            warn!(port, %error, "no media over TCP: name another port in rtc.tcp_port");
            None
        }
        _ => Some(port),
    }
}

/// Starts what can do everything.
fn open_base(
    settings: &Settings,
    addresses: &[IpAddr],
    tcp_port: Option<u16>,
    clock: Clock,
    wake: Wake,
) -> Result<AnyPlane, Box<dyn Error>> {
    let ports = &settings.ports;
    let udp = UdpConfig {
        addresses: addresses.iter().map(|ip| (*ip, ports.first()).into()).collect(),
        tcp_port,
        workers: settings.workers,
        port_per_worker: ports.count() > 1,
        coalesce: settings.coalesce,
        pack_legs: FEW_LEGS,
        realtime_workers: is_realtime(settings),
        ..UdpConfig::default()
    };
    match settings.base {
        Base::Udp => {}
        Base::Afxdp => match afxdp::start(&settings.afxdp, udp.clone(), clock, wake.clone()) {
            Ok(plane) => return Ok(Box::new(plane)),
            Err(reason) => warn!(%reason, "no AF_XDP, packets go through sockets"),
        },
    }
    let plane = UdpPlane::start(udp, clock, wake).map_err(|error| {
        refused(ports, tcp_port, addresses).unwrap_or_else(|| format!("cannot start media: {error}"))
    })?;
    Ok(Box::new(plane))
}

/// The port of media that the system refuses, and the cure.
fn refused(ports: &MediaPorts, tcp_port: Option<u16>, addresses: &[IpAddr]) -> Option<String> {
    let udp = ports.range().map(|port| (Transport::Udp, port, "rtc.port"));
    let tcp = tcp_port.map(|port| (Transport::Tcp, port, "rtc.tcp_port"));
    let all = udp.chain(tcp).flat_map(|(transport, port, setting)| {
        addresses
            .iter()
            .map(move |address| (transport, (*address, port).into(), setting))
    });
    refused::first_of(all)
}

/// Whether workers may have real-time priority, and are to.
fn is_realtime(settings: &Settings) -> bool {
    let is_wanted = settings.realtime_workers;
    let is_permitted = is_wanted && UdpPlane::may_run_realtime();
    if is_wanted && !is_permitted {
        info!("workers take turns with other programs: real-time priority needs root, CAP_SYS_NICE or LimitRTPRIO=1");
    }
    is_permitted
}

#[cfg(test)]
mod tests;
