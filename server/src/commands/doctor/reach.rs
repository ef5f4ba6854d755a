//! The addresses that clients are told of, and what a STUN server sees of them.

use std::net::{IpAddr, SocketAddr};

use super::finding::{Finding, Severity};
use crate::config::{Config, StunServer};
use crate::media::addresses::{Addresses, Known, Reached, advertised};
use crate::media::external::{self, Binding};
use crate::os::port_owner::{PortOwner, Transport};

const ADDRESSES: &str = "addresses";
const STUN: &str = "STUN";

pub(super) async fn check(config: Option<&Config>, servers: &[StunServer], findings: &mut Vec<Finding>) {
    let reached = match config {
        Some(config) => told(config, findings).await,
        None => Vec::new(),
    };
    if servers.is_empty() {
        let message = "no STUN server is asked: `--stun HOST:PORT` asks one for the addresses that clients see";
        findings.push(Finding::info(STUN, message));
        return;
    }
    let port = config.map_or(0, |config| config.rtc.dataplane.ports.first());
    let learns = config.is_some_and(|config| !config.rtc.stun_servers.is_empty());
    for server in servers {
        let mut is_asked = false;
        for reached in &reached {
            is_asked |= ask(server, *reached, port, learns, findings).await;
        }
        if !is_asked {
            findings.push(Finding::warning(
                STUN,
                format!("{server} was not asked: it has no address in a family of this server's addresses"),
                "correct its name, or name a server with IPv4 and IPv6",
            ));
        }
    }
}

/// The addresses that clients are told of as long as no STUN server is asked.
async fn told(config: &Config, findings: &mut Vec<Finding>) -> Vec<Reached> {
    let addresses = Addresses::of(config).without_stun_servers();
    // That there are none is a finding of the configuration.
    let Ok(known) = addresses.now(&Known::default()).await else {
        return Vec::new();
    };
    let told = advertised(&known.reached);
    let list: Vec<String> = told.iter().map(ToString::to_string).collect();
    let list = list.join(", ");
    let asks = &config.rtc.stun_servers;
    findings.push(if !asks.is_empty() {
        let servers: Vec<String> = asks.iter().map(ToString::to_string).collect();
        let servers = servers.join(", ");
        Finding::ok(ADDRESSES, format!("clients are told of what {servers} sees of {list}"))
    } else if told
        .iter()
        .all(|address| external::is_private(*address) || address.is_loopback())
    {
        Finding::new(
            ADDRESSES,
            Severity::Info,
            format!("clients are told of {list}, which only this network reaches"),
            Some(
                "for clients elsewhere name the public address in `rtc.node_ip`, or set `rtc.use_external_ip`"
                    .to_owned(),
            ),
        )
    } else {
        Finding::ok(ADDRESSES, format!("clients are told of {list}"))
    });
    known.reached
}

/// Asks a server about one address. Returns whether it has an address in the same family.
/// `learns` says that the media node asks STUN servers itself.
async fn ask(server: &StunServer, reached: Reached, port: u16, learns: bool, findings: &mut Vec<Finding>) -> bool {
    let Some(local) = reached.local else { return false };
    let Some(addresses) = external::addresses_of(server, local).await else {
        return false;
    };
    let Some(address) = addresses.first() else {
        return false;
    };
    let media = SocketAddr::new(local, port);
    // A port that the server has is left alone.
    let is_free = port != 0 && PortOwner::of(Transport::Udp, media) == PortOwner::Nobody;
    let from = SocketAddr::new(local, if is_free { port } else { 0 });
    let Some(binding) = external::ask(from, *address).await else {
        findings.push(Finding::warning(
            STUN,
            format!("{server} does not answer {local}"),
            "let UDP pass to the internet and back, or name a server that runs",
        ));
        return true;
    };
    findings.push(seen(server, reached, local, learns, binding));
    if is_free {
        findings.push(mapped(server, media, binding));
        findings.push(strangers(server, media, *address, binding).await);
    } else {
        findings.push(Finding::info(
            STUN,
            format!("UDP {media} is in use, so whether strangers reach it is not tried: run `weir doctor --stun` before a start"),
        ));
    }
    true
}

/// Whether clients are told of the address that a server sees.
fn seen(server: &StunServer, reached: Reached, local: IpAddr, learns: bool, binding: Binding) -> Finding {
    let seen = binding.seen.ip();
    match seen == reached.advertised {
        false if learns => Finding::ok(
            STUN,
            format!("{server} sees {local} as {seen}, and the server asks for it"),
        ),
        true => Finding::ok(STUN, format!("{server} sees {local} as {seen}, as clients are told")),
        false => Finding::warning(
            STUN,
            format!(
                "{server} sees {local} as {seen}, and clients are told of {}",
                reached.advertised
            ),
            format!("set `rtc.node_ip: {seen}`, or `rtc.use_external_ip: true`"),
        ),
    }
}

/// Whether a network address translator keeps the port of media.
fn mapped(server: &StunServer, media: SocketAddr, binding: Binding) -> Finding {
    let (port, seen) = (media.port(), binding.seen.port());
    match port == seen {
        true => Finding::ok(STUN, format!("{server} sees UDP port {port} as {seen}")),
        false => Finding::warning(
            STUN,
            format!("{server} sees UDP port {port} as {seen}: a network address translator changes it"),
            format!("forward UDP {port} to this machine there, or run a TURN server outside"),
        ),
    }
}

/// Whether packets that nobody has asked for arrive at the port of media.
async fn strangers(server: &StunServer, media: SocketAddr, address: SocketAddr, binding: Binding) -> Finding {
    let unknown = |why: String| Finding::info(STUN, why);
    let Some(other) = binding.other else {
        return unknown(format!(
            "{server} has no second address (RFC 5780), so whether strangers reach UDP port {} is not known",
            media.port()
        ));
    };
    match external::hears_strangers(media, address).await {
        None => unknown(format!(
            "UDP {media} was taken meanwhile, so whether strangers reach it is not known"
        )),
        Some(true) => Finding::ok(
            STUN,
            format!("UDP port {} is reached by strangers such as {other}", media.port()),
        ),
        Some(false) => Finding::warning(
            STUN,
            format!("UDP port {} is not reached by strangers such as {other}", media.port()),
            format!(
                "open UDP {} in the firewall, and forward it where there is a NAT",
                media.port()
            ),
        ),
    }
}
