//! Ports: free, in use by Weir, or in use by others.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::finding::{Finding, Severity};
use super::process::ProcessFiles;
use crate::cli::Role;
use crate::commands::client::Client;
use crate::config::Config;
use crate::os::port_owner::{PortOwner, Process, Transport};
use crate::os::refused::LOW_PORT;

const CHECK: &str = "ports";

/// The name of the program, as the kernel shows it of its processes.
const PROGRAM: &str = "weir";

/// The process that keeps the ports of HTTP between two servers (`FileDescriptorStoreMax=`).
const SERVICE_MANAGER: u32 = 1;

/// How long a server may take to say whether it is ready.
const PATIENCE: Duration = Duration::from_secs(5);

/// A port that a server opens.
struct ServerPort {
    transport: Transport,
    address: SocketAddr,
    setting: &'static str,
}

/// Looks at the ports of a configuration. Returns the server that has them, if there is one.
pub(super) async fn check(config: &Config, role: Option<Role>, findings: &mut Vec<Finding>) -> Option<Process> {
    check_addresses(config, findings);
    let ports = ports_of(config, role);
    let low = unprivileged_start();
    let (mut free, mut kept, mut servers) = (Vec::new(), Vec::new(), BTreeMap::new());
    for port in &ports {
        let name = format!("{} {}", port.transport.name(), port.address);
        match PortOwner::of(port.transport, port.address) {
            PortOwner::Nobody => {
                free.push(name.clone());
                let may_open = || {
                    let own = ProcessFiles::own().capabilities();
                    own.is_none_or(|own| own.has("CAP_NET_BIND_SERVICE"))
                };
                if port.address.port() < low && !may_open() {
                    findings.push(Finding::warning(CHECK, format!("{name} is below {low}"), LOW_PORT));
                }
            }
            PortOwner::Process(process) if process.name == PROGRAM => {
                let (_, its) = servers.entry(process.id).or_insert_with(|| (process, Vec::new()));
                its.push(name);
            }
            PortOwner::Process(process) if process.id == SERVICE_MANAGER => {
                let message = format!("{name} is kept by {process} for the next server");
                findings.push(Finding::info(CHECK, message));
                kept.push(name);
            }
            PortOwner::Process(process) => {
                let cure = format!("end that, or set another port in `{}`", port.setting);
                findings.push(Finding::error(CHECK, format!("{name} is in use by {process}"), cure));
            }
            PortOwner::Hidden => {
                let message = format!("{name} is in use by a process that this user may not see");
                findings.push(Finding::warning(
                    CHECK,
                    message,
                    "run `weir doctor` as root to see which",
                ));
            }
        }
    }
    if !free.is_empty() {
        findings.push(Finding::ok(CHECK, format!("free: {}", summary(&free))));
    }
    for (process, its) in servers.values() {
        findings.push(Finding::ok(CHECK, format!("in use by {process}: {}", summary(its))));
    }
    if servers.len() > 1 {
        let message = "several servers have ports of this configuration";
        findings.push(Finding::warning(
            CHECK,
            message,
            "name the configuration of one of them",
        ));
    }
    let idle = [free, kept].concat();
    check_readiness(config, &idle, findings).await;
    servers.into_values().next().map(|(process, _)| process)
}

/// The first ports, and how many more there are.
fn summary(ports: &[String]) -> String {
    const SHOWN: usize = 12;
    match ports.len().checked_sub(SHOWN) {
        None | Some(0) => ports.join(", "),
        Some(more) => format!("{}, and {more} more", ports[..SHOWN].join(", ")),
    }
}

/// Whether this machine has the addresses to listen on.
fn check_addresses(config: &Config, findings: &mut Vec<Finding>) {
    let Ok(interfaces) = if_addrs::get_if_addrs() else {
        return;
    };
    let own: Vec<IpAddr> = interfaces.iter().map(|interface| interface.ip()).collect();
    let is_own = |address: &IpAddr| address.is_unspecified() || address.is_loopback() || own.contains(address);
    for address in config.bind.iter().filter(|address| !is_own(address)) {
        findings.push(Finding::error(
            CHECK,
            format!("this machine has no address {address}"),
            "`bind` names those to listen on, and `rtc.node_ip` those that clients reach",
        ));
    }
}

/// The ports that a server of this role opens, but for those of calls, which are opened when there
/// are calls.
fn ports_of(config: &Config, role: Option<Role>) -> Vec<ServerPort> {
    let (has_rooms, has_media) = (role != Some(Role::Media), role != Some(Role::Controller));
    let dataplane = &config.rtc.dataplane;
    let turn = config.turn.as_ref().filter(|turn| turn.is_own());
    let turn = turn.and_then(|turn| turn.port);
    let media_tcp = dataplane.tcp.as_ref().map(|tcp| tcp.port);
    let everywhere = |transport, port: u16, setting| {
        config.bind.iter().map(move |address| ServerPort {
            transport,
            address: SocketAddr::new(*address, port),
            setting,
        })
    };
    let at = |transport, address: SocketAddr, setting| ServerPort {
        transport,
        address,
        setting,
    };
    let mut ports: Vec<ServerPort> = everywhere(Transport::Tcp, config.port, "port").collect();
    if let Some(tls) = config.tls.as_ref().filter(|_| has_rooms) {
        ports.extend(everywhere(Transport::Tcp, tls.port, "tls.port"));
    }
    if has_media {
        for port in dataplane.ports.range() {
            ports.extend(everywhere(Transport::Udp, port, "rtc.port"));
        }
        if let Some(port) = media_tcp {
            ports.extend(everywhere(Transport::Tcp, port, "rtc.tcp_port"));
        }
        if let Some(port) = turn {
            ports.extend(everywhere(Transport::Udp, port, "turn.port"));
            ports.extend(everywhere(Transport::Tcp, port, "turn.port"));
        }
    }
    if let Some(sip) = config.sip.as_ref().filter(|_| has_media) {
        if let Some(ng) = &sip.ng {
            let of = |transport, setting| move |address: &SocketAddr| at(transport, *address, setting);
            ports.extend(ng.listen.iter().map(of(Transport::Udp, "sip.ng.listen")));
            ports.extend(ng.tcp.iter().map(of(Transport::Tcp, "sip.ng.tcp")));
            ports.extend(ng.http.iter().map(of(Transport::Tcp, "sip.ng.http")));
        }
        if let Some(rtpproxy) = &sip.rtpproxy {
            let of = |address: &SocketAddr| at(Transport::Udp, *address, "sip.rtpproxy.listen");
            ports.extend(rtpproxy.listen.iter().map(of));
        }
    }
    if let Some(cluster) = &config.cluster {
        if has_media {
            ports.push(at(Transport::Tcp, cluster.listen, "cluster.listen"));
        }
        if has_rooms {
            let listen = cluster.controllers.listen;
            ports.push(at(Transport::Tcp, listen, "cluster.controllers.listen"));
        }
        if config.sip.is_some() && has_media {
            ports.push(at(Transport::Tcp, cluster.sip.listen, "cluster.sip.listen"));
        }
    }
    // The system chooses one that is free.
    ports.retain(|port| port.address.port() != 0);
    ports
}

/// Asks the server at the port of HTTP whether it is ready, unless the port is idle.
async fn check_readiness(config: &Config, idle: &[String], findings: &mut Vec<Finding>) {
    const CHECK: &str = "server";
    let address = http_address(config);
    let is_idle = |bound: &IpAddr| idle.contains(&format!("TCP {}", SocketAddr::new(*bound, config.port)));
    if config.bind.iter().all(is_idle) {
        findings.push(Finding::info(CHECK, "no server runs with this configuration"));
        return;
    }
    let Ok(client) = Client::new(&format!("http://{address}"), None, PATIENCE) else {
        return;
    };
    findings.push(match client.get("/readyz", None).await {
        Ok(answer) if answer.status == 200 => Finding::ok(CHECK, format!("the server at {address} is ready")),
        Ok(answer) => {
            let why = String::from_utf8_lossy(&answer.body).trim().to_owned();
            Finding::error(
                CHECK,
                format!("the server at {address} is not ready: {} {why}", answer.status),
                "its log says more",
            )
        }
        Err(error) => Finding::new(
            CHECK,
            Severity::Error,
            format!("the port {address} is in use, and no server answers there: {error}"),
            None,
        ),
    });
}

/// The address at which this machine reaches the port of HTTP.
pub(super) fn http_address(config: &Config) -> SocketAddr {
    let bound = config.bind.first().copied().unwrap_or(Ipv4Addr::LOCALHOST.into());
    let address = match bound {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    SocketAddr::new(address, config.port)
}

/// The lowest port that needs no privilege.
fn unprivileged_start() -> u16 {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1_024)
}
