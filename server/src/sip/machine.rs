//! The addresses of this machine, to which parties of calls may not have media sent.

use std::net::IpAddr;

use if_addrs::IfAddr;
use sip::Machine;

use crate::config;

/// The addresses of this machine now. The ones that are advertised are its own too: a NAT may
/// translate them back.
pub(crate) fn read(config: &config::Sip, node_ips: &[IpAddr]) -> Machine {
    let interfaces = config.interfaces.iter();
    let configured = interfaces.flat_map(|interface| [Some(interface.address), interface.advertise]);
    let mut machine = Machine {
        addresses: configured.flatten().chain(node_ips.iter().copied()).collect(),
        broadcasts: Vec::new(),
    };
    // A system that does not tell them leaves the configured ones.
    for interface in if_addrs::get_if_addrs().unwrap_or_default() {
        machine.addresses.push(interface.ip());
        if let IfAddr::V4(v4) = interface.addr {
            machine.broadcasts.extend(v4.broadcast.map(IpAddr::V4));
        }
    }
    machine.addresses.sort_unstable();
    machine.addresses.dedup();
    let own = &machine.addresses;
    // The kernel tells the interface's own address where no broadcast address is set.
    machine.broadcasts.retain(|broadcast| !own.contains(broadcast));
    machine
}
