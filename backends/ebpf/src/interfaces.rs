//! The interfaces that have local addresses.

use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// Interfaces that have one of these addresses, and loopback interfaces, if they are up; each once.
/// Only of kinds whose frames have an Ethernet header.
pub fn interfaces_with(addresses: &[IpAddr]) -> Vec<String> {
    let all: Vec<_> = getifaddrs().into_iter().flatten().collect();
    let ethernets: Vec<&str> = all
        .iter()
        .filter(|interface| interface.address.as_ref().is_some_and(is_ethernets))
        .map(|interface| interface.interface_name.as_str())
        .collect();
    let mut found: Vec<String> = Vec::new();
    for interface in &all {
        let address = interface.address.as_ref().and_then(ip);
        let has_address = address.is_some_and(|address| addresses.contains(&address));
        let name = &interface.interface_name;
        let is_wanted =
            interface.flags.contains(InterfaceFlags::IFF_LOOPBACK) || has_address && ethernets.contains(&name.as_str());
        if interface.flags.contains(InterfaceFlags::IFF_UP) && is_wanted && !found.contains(name) {
            found.push(name.clone());
        }
    }
    found
}

/// Whether an interface is this machine's way to itself.
pub fn is_loopback(name: &str) -> bool {
    let mut interfaces = getifaddrs().into_iter().flatten();
    interfaces
        .any(|interface| interface.interface_name == name && interface.flags.contains(InterfaceFlags::IFF_LOOPBACK))
}

fn is_ethernets(address: &SockaddrStorage) -> bool {
    address
        .as_link_addr()
        .is_some_and(|link| link.hatype() == libc::ARPHRD_ETHER)
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_with_an_address_and_the_loopback_are_found_once() {
        let loopback: Vec<String> = getifaddrs()
            .expect("every system has interfaces")
            .map(|interface| interface.interface_name)
            .filter(|name| is_loopback(name))
            .take(1)
            .collect();
        let found = interfaces_with(&["127.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap()]);
        assert_eq!(found, loopback, "nobody has an address that is for documentation");
    }
}
