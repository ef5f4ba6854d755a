//! Which ports are free.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use environment::Random;

use crate::config::{ConfigRefused, Interface};
use crate::destinations::Machine;

/// The ports of all interfaces: pairs of an even one and the odd one above it.
///
/// They are given out in an unpredictable order, and a returned one goes to the end, so that late
/// packets of one call do not reach the next one.
pub(crate) struct PortPool {
    pools: Vec<InterfacePorts>,
}

/// The ports of one interface, free and taken.
struct InterfacePorts {
    interface: Interface,
    free: VecDeque<u16>,
    /// The taken ports, each with the number of its owners.
    taken: HashMap<u16, usize>,
    last: u16,
}

/// An even port of ours and the next, taken; its owner gives it back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pool: usize,
    address: IpAddr,
    /// The address in descriptions.
    pub(crate) advertised: IpAddr,
    port: u16,
}

/// The ports of one interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name in requests.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// The first and the last.
    pub range: (u16, u16),
    /// How many calls have.
    pub used: usize,
    /// How many are free.
    pub free: usize,
    /// The last one given out.
    pub last: u16,
}

impl Pair {
    /// The interface it is on.
    pub(crate) fn interface(&self) -> usize {
        self.pool
    }

    pub(crate) fn rtp(&self) -> SocketAddr {
        (self.address, self.port).into()
    }

    pub(crate) fn rtcp(&self) -> SocketAddr {
        (self.address, self.port + 1).into()
    }
}

impl PortPool {
    pub(crate) fn new(interfaces: &[Interface], random: &mut Random) -> Result<Self, ConfigRefused> {
        if interfaces.is_empty() {
            return Err(ConfigRefused::NoInterface);
        }
        for (position, interface) in interfaces.iter().enumerate() {
            if interface.advertised.unwrap_or(interface.address).is_unspecified() {
                return Err(ConfigRefused::NoAddress(interface.name.clone()));
            }
            let overlaps = |other: &&Interface| {
                let (mine, theirs) = (&interface.ports, &other.ports);
                other.address == interface.address && mine.start() <= theirs.end() && theirs.start() <= mine.end()
            };
            if let Some(other) = interfaces[..position].iter().find(overlaps) {
                return Err(ConfigRefused::Overlap(other.name.clone(), interface.name.clone()));
            }
        }
        let pools = interfaces
            .iter()
            .map(|interface| InterfacePorts::new(interface, random))
            .collect::<Result<_, _>>()?;
        Ok(Self { pools })
    }

    /// The interface called `name`, with an address of the family if it has one. `None` if there is
    /// no such name.
    ///
    /// `internal` and `external` are the first and the second name, if no interface has those
    /// names.
    pub(crate) fn interface(&self, name: &str, v6: bool) -> Option<usize> {
        let has = |name: &str| self.pools.iter().any(|pool| pool.interface.name == name);
        let first = &self.pools[0].interface.name;
        let name = match name {
            _ if has(name) => name,
            "internal" => first,
            "external" => self
                .pools
                .iter()
                .map(|pool| &pool.interface.name)
                .find(|other| *other != first)?,
            _ => return None,
        };
        self.with_family(name, v6)
    }

    /// The interface that is used when none is named.
    pub(crate) fn default_interface(&self, v6: bool) -> usize {
        self.with_family(&self.pools[0].interface.name, v6).unwrap_or(0)
    }

    /// The interface of the same name with an address of that family; itself where there is none.
    pub(crate) fn sibling(&self, interface: usize, v6: bool) -> usize {
        let is_v6 = |pool: &InterfacePorts| pool.interface.address.is_ipv6();
        let named = self.with_family(&self.pools[interface].interface.name, v6);
        named
            .filter(|_| is_v6(&self.pools[interface]) != v6)
            .unwrap_or(interface)
    }

    /// The interface with this address.
    pub(crate) fn interface_at(&self, address: IpAddr) -> Option<usize> {
        self.pools.iter().position(|pool| pool.interface.address == address)
    }

    fn with_family(&self, name: &str, v6: bool) -> Option<usize> {
        let named = || {
            self.pools
                .iter()
                .enumerate()
                .filter(|(_, pool)| pool.interface.name == name)
        };
        let suits = named().find(|(_, pool)| pool.interface.address.is_ipv6() == v6);
        suits.or_else(|| named().next()).map(|(position, _)| position)
    }

    /// A pair on this interface, when one is free.
    pub(crate) fn take(&mut self, interface: usize) -> Option<Pair> {
        let pool = &mut self.pools[interface];
        let port = pool.free.pop_front()?;
        assert!(pool.taken.insert(port, 1).is_none(), "a free port is not taken");
        pool.last = port;
        let Interface {
            address, advertised, ..
        } = pool.interface;
        Some(Pair {
            pool: interface,
            address,
            advertised: advertised.unwrap_or(address),
            port,
        })
    }

    /// Takes the pairs with these even ports that are ours and free.
    pub(crate) fn take_these(&mut self, wanted: &HashSet<SocketAddr>) -> HashMap<SocketAddr, Pair> {
        let mut pairs = HashMap::new();
        for (position, pool) in self.pools.iter_mut().enumerate() {
            let Interface {
                address, advertised, ..
            } = pool.interface;
            let taken = &mut pool.taken;
            pool.free.retain(|port| {
                let at = SocketAddr::new(address, *port);
                let is_wanted = wanted.contains(&at);
                if is_wanted {
                    taken.insert(*port, 1);
                    let pair = Pair {
                        pool: position,
                        address,
                        advertised: advertised.unwrap_or(address),
                        port: *port,
                    };
                    pairs.insert(at, pair);
                }
                !is_wanted
            });
        }
        pairs
    }

    /// An address as our ports have it: the interface's own in place of an advertised one, and in
    /// place of one of this machine's where the interface has all of them.
    pub(crate) fn own(&self, at: SocketAddr, machine: &Machine) -> SocketAddr {
        let ip = at.ip().to_canonical();
        let is_it = |pool: &&InterfacePorts| {
            let interface = &pool.interface;
            let has_all = interface.address.is_unspecified() && machine.has(ip);
            (interface.advertised == Some(ip) || has_all) && interface.ports.contains(&at.port())
        };
        let pool = self.pools.iter().find(is_it);
        SocketAddr::new(pool.map_or(ip, |pool| pool.interface.address), at.port())
    }

    /// The address of an interface.
    pub(crate) fn address_of(&self, interface: usize) -> IpAddr {
        self.pools[interface].interface.address
    }

    /// The address of an interface in descriptions.
    pub(crate) fn advertised(&self, interface: usize) -> IpAddr {
        let Interface {
            address, advertised, ..
        } = self.pools[interface].interface;
        advertised.unwrap_or(address)
    }

    /// The same pair for another owner. It is free once all have given it back.
    pub(crate) fn share(&mut self, pair: &Pair) -> Pair {
        let owners = self.pools[pair.pool].taken.get_mut(&pair.port);
        *owners.expect("it is taken") += 1;
        Pair { ..*pair }
    }

    pub(crate) fn give_back(&mut self, pair: Pair) {
        let pool = &mut self.pools[pair.pool];
        let owners = pool.taken.get_mut(&pair.port).expect("only what was taken comes back");
        *owners -= 1;
        if *owners == 0 {
            pool.taken.remove(&pair.port);
            pool.free.push_back(pair.port);
        }
    }

    /// How many ports of each interface are taken, and how many are not.
    pub(crate) fn pools(&self) -> Vec<Pool> {
        let pool = |pool: &InterfacePorts| Pool {
            name: pool.interface.name.clone(),
            address: pool.interface.address,
            range: (*pool.interface.ports.start(), *pool.interface.ports.end()),
            used: 2 * pool.taken.len(),
            free: 2 * pool.free.len(),
            last: pool.last,
        };
        self.pools.iter().map(pool).collect()
    }

    /// How many pairs are taken.
    pub(crate) fn taken(&self) -> usize {
        self.pools.iter().map(|pool| pool.taken.len()).sum()
    }
}

impl InterfacePorts {
    fn new(interface: &Interface, random: &mut Random) -> Result<Self, ConfigRefused> {
        let (start, end) = (*interface.ports.start(), *interface.ports.end());
        let mut free: Vec<u16> = (start..end).filter(|port| *port != 0 && port % 2 == 0).collect();
        if free.is_empty() {
            return Err(ConfigRefused::NoPorts(interface.name.clone()));
        }
        random.shuffle(&mut free);
        Ok(Self {
            interface: interface.clone(),
            free: free.into(),
            taken: HashMap::new(),
            last: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, last: u8, ports: std::ops::RangeInclusive<u16>) -> Interface {
        Interface {
            name: name.to_owned(),
            address: [192, 0, 2, last].into(),
            advertised: None,
            ports,
        }
    }

    fn ports(interfaces: &[Interface]) -> Result<PortPool, ConfigRefused> {
        PortPool::new(interfaces, &mut Random::new([7; 32]))
    }

    #[test]
    fn pairs_are_even_and_whole_and_each_is_given_once() {
        let mut ports = ports(&[interface("a", 1, 5001..=5008)]).expect("usable");
        let pairs: Vec<Pair> = std::iter::from_fn(|| ports.take(0)).collect();
        let mut numbers: Vec<u16> = pairs.iter().map(|pair| pair.rtp().port()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [5002, 5004, 5006]);
        assert_eq!(pairs[0].rtcp().port(), pairs[0].rtp().port() + 1);
        pairs.into_iter().for_each(|pair| ports.give_back(pair));
        assert_eq!((ports.taken(), ports.pools[0].free.len()), (0, 3));
    }

    #[test]
    fn the_last_port_that_came_back_is_the_last_to_go_out_again() {
        let mut ports = ports(&[interface("a", 1, 5000..=5009)]).expect("usable");
        let first = ports.take(0).expect("free");
        let port = first.rtp().port();
        ports.give_back(first);
        let order: Vec<u16> = std::iter::from_fn(|| ports.take(0))
            .map(|pair| pair.rtp().port())
            .collect();
        assert_eq!(order.last(), Some(&port));
    }

    #[test]
    fn names_of_old_mean_the_first_and_the_second() {
        let ports = ports(&[interface("lan", 1, 5000..=5009), interface("wan", 2, 5000..=5009)]).expect("usable");
        assert_eq!(
            (ports.interface("internal", false), ports.interface("external", false)),
            (Some(0), Some(1))
        );
        assert_eq!(
            (ports.interface("wan", true), ports.interface("dmz", false)),
            (Some(1), None)
        );
    }

    #[test]
    fn unusable_configurations_are_refused() {
        assert_eq!(ports(&[]).err(), Some(ConfigRefused::NoInterface));
        assert_eq!(
            ports(&[interface("a", 1, 5001..=5002)]).err(),
            Some(ConfigRefused::NoPorts("a".to_owned()))
        );
        assert_eq!(
            ports(&[interface("a", 1, 0..=1)]).err(),
            Some(ConfigRefused::NoPorts("a".to_owned()))
        );
        let nowhere = Interface {
            address: [0, 0, 0, 0].into(),
            ..interface("a", 1, 5000..=5009)
        };
        assert_eq!(ports(&[nowhere]).err(), Some(ConfigRefused::NoAddress("a".to_owned())));
        let twice = [interface("a", 1, 5000..=5009), interface("b", 1, 5009..=5020)];
        assert_eq!(
            ports(&twice).err(),
            Some(ConfigRefused::Overlap("a".to_owned(), "b".to_owned()))
        );
    }
}
