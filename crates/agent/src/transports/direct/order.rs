//! Whether a direct transport can be as it was ordered.

use std::net::{IpAddr, SocketAddr};

use dataplane::Path;
use southbound::{DirectKeys, OpenDirect};

use crate::config::Config;

/// The pair of addresses that was ordered, as datagrams arrive between them.
pub(super) fn path(order: &OpenDirect, config: &Config) -> Path {
    Path {
        local: config.arrival_address(order.local),
        remote: order.remote,
    }
}

/// Errors: the fault of the order.
pub(super) fn check(order: &OpenDirect, config: &Config) -> Result<(), &'static str> {
    let path = path(order, config);
    let is_ours = |address: &SocketAddr| address.port() == order.local.port();
    if !config.addresses.iter().any(is_ours) || config.is_tcp(&path) {
        return Err("its own port is no UDP port of the node");
    }
    if path.local.is_ipv4() != order.remote.is_ipv4() {
        return Err("its addresses are of two families");
    }
    if !is_unicast(order.remote.ip()) || order.remote.port() == 0 {
        return Err("its peer has no unicast address");
    }
    if [order.local, path.local].contains(&order.remote) {
        return Err("its peer would be the node itself");
    }
    match &order.keys {
        Some(keys) => check_keys(keys),
        None if config.clear_trunks || config.clear_rtp => Ok(()),
        None => Err("it has no keys, and the node takes sealed trunks only"),
    }
}

/// With one key for both directions, two packets of one SSRC would have one keystream. A sender
/// without authentication could be anybody.
fn check_keys(keys: &DirectKeys) -> Result<(), &'static str> {
    if keys.ingress.key() == keys.egress.key() {
        return Err("both directions have one key");
    }
    if keys.ingress.parameters().unauthenticated_rtp {
        return Err("its peer would not authenticate packets");
    }
    Ok(())
}

fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || is_broadcast)
}
