//! The addresses that clients send media to.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};

use crate::config::Config;

/// The addresses that peers send media to: the configured ones, or else this machine's own. IPv4
/// addresses are first.
///
/// Errors: there are none.
pub(crate) fn of(config: &Config) -> Result<Vec<IpAddr>, Box<dyn Error>> {
    let mut addresses = config.rtc.node_ips.clone();
    if addresses.is_empty() {
        let own = own()?;
        addresses = config.bind.iter().flat_map(|bound| reached_by(*bound, &own)).collect();
    }
    addresses.sort_by_key(|address| (address.is_ipv6(), *address));
    addresses.dedup();
    if addresses.is_empty() {
        return Err("no address for media: this machine has none but loopback; say one with --node-ip".into());
    }
    Ok(addresses)
}

/// The same with a port.
pub(crate) fn at(addresses: &[IpAddr], port: u16) -> Vec<SocketAddr> {
    let with_port = |address: &IpAddr| SocketAddr::new(*address, port);
    addresses.iter().map(with_port).collect()
}

/// Each of some addresses that clients send media to, with the one by which this machine reaches
/// its own media. Behind a NAT that is another one of the same family.
///
/// Errors: the operating system's.
pub(crate) fn local(config: &Config, addresses: &[IpAddr]) -> io::Result<Vec<(IpAddr, IpAddr)>> {
    let own = own()?;
    let bound: Vec<IpAddr> = config.bind.iter().flat_map(|bound| reached_by(*bound, &own)).collect();
    let reached = |address: &IpAddr| {
        let same_family = || bound.iter().find(|bound| bound.is_ipv4() == address.is_ipv4());
        let local = own.iter().find(|own| *own == address).or_else(same_family)?;
        Some((*address, *local))
    };
    Ok(addresses.iter().filter_map(reached).collect())
}

/// The addresses of this machine.
fn own() -> io::Result<Vec<IpAddr>> {
    let interfaces = if_addrs::get_if_addrs()?;
    Ok(interfaces.iter().map(if_addrs::Interface::ip).collect())
}

/// The addresses of this machine that reach a socket bound to `bound`. Link-local ones need a zone
/// and are left out.
fn reached_by(bound: IpAddr, own: &[IpAddr]) -> Vec<IpAddr> {
    if !bound.is_unspecified() {
        return vec![bound];
    }
    let link_local = |address: &IpAddr| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let same_family = own.iter().filter(|address| address.is_ipv4() == bound.is_ipv4());
    same_family
        .filter(|address| !address.is_loopback() && !link_local(address))
        .copied()
        .collect()
}
