//! The switch that is to be written, and its place in the network.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::Mac;
use crate::address::{bits, is_one_machines};

/// The configuration of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P4Config {
    /// The address of its P4Runtime server.
    pub switch: SocketAddr,
    /// Its number there.
    pub device: u64,
    /// The controller with the highest number may write.
    pub election: u64,
    /// The way packets are replicated.
    pub replication: Replication,
    /// The port of the switch behind which this host is.
    pub host: u16,
    /// Its ports.
    pub ports: Vec<Port>,
    /// Whether rooms without encryption are replicated there.
    pub rooms: bool,
}

/// The way packets are replicated. Each is a compilation of its own of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Replication {
    /// By the multicast engine of the switch.
    #[default]
    Multicast,
    /// By a clone and another pass for each receiver.
    Recirculation,
    /// By a binary tree of passes.
    Tree,
}

/// A port of the switch, as a router has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number.
    pub port: u16,
    /// Its hardware address.
    pub mac: Mac,
    /// Its addresses, for which the controller answers ARP, neighbour discovery and echo requests.
    pub addresses: Vec<IpAddr>,
    /// The networks behind it.
    pub routes: Vec<Route>,
}

/// A network, and its next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network.
    pub to: Prefix,
    /// The hardware address of the next hop.
    pub via: Mac,
}

/// A network: an address and the number of its leading bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// An address in it.
    pub ip: IpAddr,
    /// The number of bits.
    pub length: u8,
}

/// The next hop of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub port: u16,
    pub src_mac: Mac,
    pub dst_mac: Mac,
}

/// The port by which packets reach the controller, in the program.
pub(crate) const CPU_PORT: u16 = 510;

/// The greatest number of a port: the two above have a meaning in the program.
const PORT_MAX: u16 = 509;

/// An error in the configuration of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum P4ConfigError {
    /// Two ports have this number.
    SamePort(u16),
    /// This number of a port is too high.
    PortNumber(u16),
    /// There is no port with this number, behind which the host is to be.
    NoHostPort(u16),
    /// This address of a port is not of one machine.
    Address(IpAddr),
    /// Two routes lead to this network.
    SameRoute(Prefix),
    /// The number of an election is 0.
    Election,
}

impl fmt::Display for P4ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SamePort(port) => write!(f, "two ports of the switch have the number {port}"),
            Self::PortNumber(port) => {
                write!(f, "a port of the switch has a number of at most {PORT_MAX}, not {port}")
            }
            Self::NoHostPort(port) => write!(f, "the host is behind port {port}, which is not among the ports"),
            Self::Address(ip) => write!(f, "{ip} cannot be the address of a port of the switch"),
            Self::SameRoute(to) => write!(f, "two routes lead to {to}"),
            Self::Election => f.write_str("an election has a number of at least 1"),
        }
    }
}

impl std::error::Error for P4ConfigError {}

impl P4Config {
    /// Whether it describes a switch.
    ///
    /// Errors: the first reason why not.
    pub fn check(&self) -> Result<(), P4ConfigError> {
        if self.election == 0 {
            return Err(P4ConfigError::Election);
        }
        let ports = &self.ports;
        for (place, port) in ports.iter().enumerate() {
            if port.port > PORT_MAX {
                return Err(P4ConfigError::PortNumber(port.port));
            }
            if ports[..place].iter().any(|other| other.port == port.port) {
                return Err(P4ConfigError::SamePort(port.port));
            }
            if let Some(ip) = port.addresses.iter().find(|ip| !is_one_machines(**ip)) {
                return Err(P4ConfigError::Address(*ip));
            }
        }
        if !ports.iter().any(|port| port.port == self.host) {
            return Err(P4ConfigError::NoHostPort(self.host));
        }
        let routes: Vec<&Route> = ports.iter().flat_map(|port| &port.routes).collect();
        for (place, route) in routes.iter().enumerate() {
            if routes[..place].iter().any(|other| other.to.key() == route.to.key()) {
                return Err(P4ConfigError::SameRoute(route.to));
            }
        }
        Ok(())
    }

    /// Whether an address is reached through the host's port.
    pub(crate) fn is_of_host(&self, ip: IpAddr) -> bool {
        self.next_hop(ip).is_some_and(|hop| hop.port == self.host)
    }

    /// The next hop of an address, by the longest prefix.
    pub(crate) fn next_hop(&self, ip: IpAddr) -> Option<Hop> {
        let routes = self
            .ports
            .iter()
            .flat_map(|port| port.routes.iter().map(move |route| (port, route)));
        let fitting = routes.filter(|(_, route)| route.to.has(ip));
        let (port, route) = fitting.max_by_key(|(_, route)| route.to.length_of_128())?;
        Some(Hop {
            port: port.port,
            src_mac: port.mac,
            dst_mac: route.via,
        })
    }
}

impl Prefix {
    /// The length where all addresses have 128 bits.
    pub(crate) fn length_of_128(&self) -> u8 {
        match self.ip {
            IpAddr::V4(_) => 96 + self.length.min(32),
            IpAddr::V6(_) => self.length.min(128),
        }
    }

    /// Its bits and its length, as the switch has them.
    pub(crate) fn key(&self) -> (u128, u8) {
        let length = self.length_of_128();
        (bits(self.ip) & mask(length), length)
    }

    fn has(&self, ip: IpAddr) -> bool {
        let (of, length) = self.key();
        bits(ip) & mask(length) == of
    }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(u32::from(128 - length.min(128))).unwrap_or(0)
}

/// A text is not a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPrefix;

impl fmt::Display for NotPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a network is an address and the length of its prefix, as in 10.0.1.0/24")
    }
}

impl std::error::Error for NotPrefix {}

impl std::str::FromStr for Prefix {
    type Err = NotPrefix;

    fn from_str(text: &str) -> Result<Self, NotPrefix> {
        let (ip, length) = text
            .split_once('/')
            .map_or((text, None), |(ip, length)| (ip, Some(length)));
        let ip: IpAddr = ip.parse().map_err(|_| NotPrefix)?;
        let max = if ip.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(max), str::parse::<u8>).map_err(|_| NotPrefix)?;
        if length > max {
            return Err(NotPrefix);
        }
        Ok(Prefix { ip, length })
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.length)
    }
}

impl Replication {
    /// Its name in the configuration, and of the compiled program.
    pub const fn name(self) -> &'static str {
        match self {
            Replication::Multicast => "multicast",
            Replication::Recirculation => "recirculation",
            Replication::Tree => "tree",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A switch with the host behind port 1 and clients behind ports 2 and 3.
    pub(crate) fn config() -> P4Config {
        let port = |port: u16, routes: &[&str]| Port {
            port,
            mac: Mac([2, 0, 0, 0, 0, port as u8]),
            addresses: vec![
                format!("10.0.{port}.1").parse().unwrap(),
                format!("2001:db8:{port}::1").parse().unwrap(),
            ],
            routes: routes
                .iter()
                .map(|to| Route {
                    to: to.parse().unwrap(),
                    via: Mac([2, 0, 0, 1, 0, port as u8]),
                })
                .collect(),
        };
        P4Config {
            switch: ([127, 0, 0, 1], 9559).into(),
            device: 1,
            election: 1,
            replication: Replication::Multicast,
            host: 1,
            ports: vec![
                port(1, &["10.0.1.0/24", "2001:db8:1::/64"]),
                port(2, &["10.0.2.0/24", "2001:db8:2::/64", "0.0.0.0/0"]),
                port(3, &["10.0.3.0/24", "2001:db8:3::/64"]),
            ],
            rooms: true,
        }
    }

    #[test]
    fn the_longest_prefix_is_the_next_hop() {
        let config = config();
        assert_eq!(config.check(), Ok(()));
        let port = |ip: &str| config.next_hop(ip.parse().unwrap()).map(|hop| hop.port);
        assert_eq!(port("10.0.3.9"), Some(3));
        assert_eq!(port("192.0.2.1"), Some(2), "by the default route");
        assert_eq!(port("2001:db8:1::9"), Some(1));
        assert_eq!(port("2001:db9::1"), None, "a route of IPv4 leads nowhere in IPv6");
    }

    #[test]
    fn a_faulty_switch_is_refused_with_the_reason() {
        type Change = fn(&mut P4Config);
        let cases: [(Change, P4ConfigError); 6] = [
            (|config| config.ports[1].port = 1, P4ConfigError::SamePort(1)),
            (|config| config.ports[2].port = 512, P4ConfigError::PortNumber(512)),
            (|config| config.host = 9, P4ConfigError::NoHostPort(9)),
            (|config| config.election = 0, P4ConfigError::Election),
            (
                |config| config.ports[0].addresses[0] = "224.0.0.1".parse().unwrap(),
                P4ConfigError::Address("224.0.0.1".parse().unwrap()),
            ),
            (
                |config| config.ports[2].routes[0].to = "10.0.1.77/24".parse().unwrap(),
                P4ConfigError::SameRoute("10.0.1.77/24".parse().unwrap()),
            ),
        ];
        for (change, error) in cases {
            let mut config = config();
            change(&mut config);
            assert_eq!(config.check(), Err(error));
        }
    }

    #[test]
    fn a_network_has_a_length_of_its_family() {
        assert_eq!("10.0.0.0/33".parse::<Prefix>(), Err(NotPrefix));
        assert_eq!("10.0.0/8".parse::<Prefix>(), Err(NotPrefix));
        assert_eq!("::/0".parse::<Prefix>().map(|prefix| prefix.key()), Ok((0, 0)));
        assert_eq!(
            "0.0.0.0/0".parse::<Prefix>().map(|prefix| prefix.key()),
            Ok((0xffff_0000_0000, 96))
        );
        assert_eq!("10.1.2.3".parse::<Prefix>().map(|prefix| prefix.length), Ok(32));
    }
}
