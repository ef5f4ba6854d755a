//! Which interfaces have addresses of ours.

use std::fs;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// The kernel's numbers for kinds of interfaces, as text.
const ETHERNET: &str = "1";
const LOOPBACK: &str = "772";

/// Interfaces that have one of these addresses, and those of this machine alone, if they are up; each once. Only of kinds whose frames begin as Ethernet's do.
pub fn interfaces_with(addresses: &[IpAddr]) -> Vec<String> {
    let mut found = Vec::new();
    for interface in getifaddrs().into_iter().flatten() {
        let name = interface.interface_name;
        let address = interface.address.as_ref().and_then(ip);
        let is_up = interface.flags.contains(InterfaceFlags::IFF_UP);
        let has_address = address.is_some_and(|address| addresses.contains(&address));
        let is_wanted = match kind(&name).as_deref() {
            Some(LOOPBACK) => true,
            Some(ETHERNET) => has_address,
            _ => false,
        };
        if is_up && is_wanted && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Whether an interface is this machine's way to itself.
pub fn is_loopback(name: &str) -> bool {
    kind(name).as_deref() == Some(LOOPBACK)
}

fn kind(name: &str) -> Option<String> {
    let kind = fs::read_to_string(format!("/sys/class/net/{name}/type")).ok()?;
    Some(kind.trim().to_owned())
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| v4.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_an_address_is_found_once_and_so_is_the_loopback() {
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
