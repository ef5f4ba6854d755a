//! The addresses that clients send media to, and their changes.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::task::JoinSet;
use tracing::warn;

use super::external;
use crate::config::{Config, Filter, Network, StunServer};

/// How often this machine's addresses are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// After so many looks without a change, STUN servers are asked all the same: five minutes. After a
/// question without an answer they are asked at the next look, and then after twice as many looks
/// each time.
const ASK_EVERY: u32 = 60;

/// The origin of the addresses.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    /// The configured ones. If there are any, there are no others.
    named: Vec<IpAddr>,
    /// The addresses that sockets are bound to.
    bound: Vec<IpAddr>,
    /// The interfaces and the networks whose addresses are used.
    interfaces: Filter<String>,
    ips: Filter<Network>,
    /// The STUN servers to ask for the address of a NAT; none if it is not wanted.
    stun_servers: Vec<StunServer>,
}

/// An address of this machine, and the one that clients outside know for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reached {
    /// In descriptions.
    pub advertised: IpAddr,
    /// On this machine. There may be none for a configured address of another family than those of
    /// this machine.
    pub local: Option<IpAddr>,
}

/// The addresses that clients are told of, and their origin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Each advertised address once, IPv4 first.
    pub reached: Vec<Reached>,
    /// One for each of this machine's own addresses, in their order. Without STUN servers, and for
    /// configured addresses, the same as `reached`.
    all: Vec<Reached>,
    /// How many times in a row STUN servers were asked about an address and none answered.
    failures: u32,
}

impl Known {
    /// The addresses that this machine has itself.
    pub(crate) fn local(&self) -> Vec<IpAddr> {
        self.reached.iter().filter_map(|reached| reached.local).collect()
    }

    /// The advertised addresses that a NAT has in place of others of this machine, with those.
    pub(crate) fn behind_nat(&self) -> BTreeMap<IpAddr, IpAddr> {
        let reached = self.reached.iter();
        let both = reached.filter_map(|reached| Some((reached.advertised, reached.local?)));
        both.filter(|(advertised, local)| advertised != local).collect()
    }
}

impl Addresses {
    /// Those of a configuration.
    pub(crate) fn of(config: &Config) -> Self {
        Addresses {
            named: config.rtc.node_ips.clone(),
            bound: config.bind.clone(),
            interfaces: config.rtc.interfaces.clone(),
            ips: config.rtc.ips.clone(),
            stun_servers: config.rtc.stun_servers.clone(),
        }
    }

    /// The same addresses, as nobody outside of this machine was asked for.
    pub(crate) fn without_stun_servers(mut self) -> Self {
        self.stun_servers.clear();
        self
    }

    /// The addresses there are now: the configured ones, or else this machine's own, as they are
    /// seen outside. An address that no STUN server sees keeps what is known of it.
    ///
    /// Errors: there are none.
    pub(crate) async fn now(&self, known: &Known) -> Result<Known, Box<dyn Error>> {
        self.check()?;
        let own = self.own()?;
        let (all, failures) = match self.named.is_empty() {
            true => self.seen(&own, known).await,
            false => (self.named(&own), 0),
        };
        let mut reached = all.clone();
        reached.sort_by_key(|reached| (reached.advertised.is_ipv6(), *reached));
        reached.dedup_by_key(|reached| reached.advertised);
        Ok(Known { reached, all, failures })
    }

    /// Whether there are any.
    ///
    /// Errors: there are none.
    pub(crate) fn check(&self) -> Result<(), Box<dyn Error>> {
        if self.named.is_empty() && self.own()?.is_empty() {
            return Err("no address for media: this machine has none but loopback; say one with --node-ip".into());
        }
        Ok(())
    }

    /// Waits for a change of `known`, and makes it. Configured addresses do not change.
    pub(crate) async fn changed(&self, known: &mut Known) {
        if !self.named.is_empty() {
            return pending().await;
        }
        let (mut own, mut looks) = (known.own(), 0);
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            looks += 1;
            let seen = self.own().unwrap_or_default();
            let is_due = looks >= known.ask_after() && !self.stun_servers.is_empty();
            if seen == own && !is_due {
                continue;
            }
            if seen != own {
                // An earlier address that no server sees must not put off questions about others.
                known.failures = 0;
            }
            (own, looks) = (seen, 0);
            match self.now(known).await {
                Ok(next) => {
                    let is_changed = next.reached != known.reached;
                    *known = next;
                    if is_changed {
                        return;
                    }
                }
                Err(error) => warn!(%error, "clients are told of the earlier addresses"),
            }
        }
    }

    /// The configured addresses. Behind a NAT this machine has them by others of the same family.
    fn named(&self, own: &[IpAddr]) -> Vec<Reached> {
        let local_of = |address: &IpAddr| {
            let is_same = |own: &&IpAddr| *own == address;
            let same_family = || own.iter().find(|own| own.is_ipv4() == address.is_ipv4());
            own.iter().find(is_same).or_else(same_family).copied()
        };
        let reached = |address: &IpAddr| Reached {
            advertised: *address,
            local: local_of(address),
        };
        self.named.iter().map(reached).collect()
    }

    /// This machine's own addresses, as STUN servers see them if they are to be asked, and how many
    /// questions in a row had no answer.
    async fn seen(&self, own: &[IpAddr], known: &Known) -> (Vec<Reached>, u32) {
        let (mut reached, mut asked) = (Vec::new(), JoinSet::new());
        for local in own.iter().copied() {
            match external::is_private(local) && !self.stun_servers.is_empty() {
                true => {
                    let servers = self.stun_servers.clone();
                    asked.spawn(async move { (local, external::seen(local, &servers).await) });
                }
                false => reached.push(Reached::at(local, local)),
            }
        }
        let mut failures = 0;
        for (local, seen) in asked.join_all().await {
            if seen.is_none() {
                failures = known.failures.saturating_add(1);
            }
            // An address that no server has seen may still be reached in its own network.
            let advertised = seen.or_else(|| known.advertised_of(local)).unwrap_or(local);
            reached.push(Reached::at(advertised, local));
        }
        reached.sort_by_key(|reached| reached.local);
        (reached, failures)
    }

    /// The addresses of this machine that are used and reach sockets, in order.
    fn own(&self) -> io::Result<Vec<IpAddr>> {
        let interfaces = if_addrs::get_if_addrs()?;
        let named = interfaces.iter().map(|interface| (&interface.name, interface.ip()));
        let used = named.filter(|(name, ip)| {
            let is_network = |network: &Network| network.contains(*ip);
            self.interfaces.admits(|other| other == *name) && self.ips.admits(is_network)
        });
        let own: Vec<IpAddr> = used.map(|(_, ip)| ip).collect();
        let mut reached: Vec<IpAddr> = self.bound.iter().flat_map(|bound| reached_by(*bound, &own)).collect();
        reached.sort();
        reached.dedup();
        Ok(reached)
    }
}

impl Reached {
    /// An address of this machine.
    fn at(advertised: IpAddr, local: IpAddr) -> Self {
        Reached {
            advertised,
            local: Some(local),
        }
    }
}

impl Known {
    /// This machine's own addresses, of which it was made.
    fn own(&self) -> Vec<IpAddr> {
        self.all.iter().filter_map(|reached| reached.local).collect()
    }

    /// The address that clients know for one of this machine.
    fn advertised_of(&self, local: IpAddr) -> Option<IpAddr> {
        let found = self.all.iter().find(|reached| reached.local == Some(local))?;
        Some(found.advertised)
    }

    /// After how many looks STUN servers are asked again.
    fn ask_after(&self) -> u32 {
        match self.failures {
            0 => ASK_EVERY,
            failures => 1_u32.checked_shl(failures - 1).unwrap_or(ASK_EVERY).min(ASK_EVERY),
        }
    }
}

/// The addresses as clients know them.
pub(crate) fn advertised(reached: &[Reached]) -> Vec<IpAddr> {
    reached.iter().map(|reached| reached.advertised).collect()
}

/// Each of these addresses with each of these ports.
pub(crate) fn at(addresses: &[IpAddr], ports: RangeInclusive<u16>) -> Vec<SocketAddr> {
    let with_ports = |address: &IpAddr| {
        let address = *address;
        ports.clone().map(move |port| SocketAddr::new(address, port))
    };
    addresses.iter().flat_map(with_ports).collect()
}

/// The addresses of this machine that reach a socket bound to `bound`. Link-local ones reach only
/// their own link, and are left out.
fn reached_by(bound: IpAddr, own: &[IpAddr]) -> Vec<IpAddr> {
    if !bound.is_unspecified() {
        return vec![bound];
    }
    let link_local = |address: &IpAddr| match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    let same_family = own.iter().filter(|address| address.is_ipv4() == bound.is_ipv4());
    same_family
        .filter(|address| !address.is_loopback() && !link_local(address))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(named: &[&str], bound: &[&str]) -> Addresses {
        let parse = |list: &[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        Addresses {
            named: parse(named),
            bound: parse(bound),
            interfaces: Filter::default(),
            ips: Filter::default(),
            stun_servers: Vec::new(),
        }
    }

    fn reached(advertised: &str, local: &str) -> Reached {
        Reached::at(advertised.parse().unwrap(), local.parse().unwrap())
    }

    #[tokio::test]
    async fn a_bound_address_is_the_one_there_is() {
        let known = Known::default();
        let found = addresses(&[], &["127.0.0.1"]).now(&known).await.unwrap();
        assert_eq!(found.reached, [reached("127.0.0.1", "127.0.0.1")]);
    }

    #[tokio::test]
    async fn an_address_that_no_server_sees_any_more_keeps_the_earlier_one() {
        let addresses = Addresses {
            stun_servers: vec!["127.0.0.1:9".parse().unwrap()],
            ..addresses(&[], &["10.255.0.1"])
        };
        let mut known = addresses.now(&Known::default()).await.unwrap();
        assert_eq!(
            known.reached,
            [reached("10.255.0.1", "10.255.0.1")],
            "none has ever answered"
        );
        known.all = vec![reached("203.0.113.7", "10.255.0.1")];
        for looks in [2, 4, 8, 16, 32, 60, 60] {
            known = addresses.now(&known).await.unwrap();
            assert_eq!(known.reached, [reached("203.0.113.7", "10.255.0.1")]);
            assert_eq!(known.ask_after(), looks);
        }
    }

    #[test]
    fn configured_addresses_are_behind_a_nat_unless_they_are_this_machines() {
        let own: Vec<IpAddr> = ["10.0.0.5", "2001:db8::5"]
            .map(|address| address.parse().unwrap())
            .into();
        let named = addresses(&["203.0.113.7", "10.0.0.5", "2001:db8::9"], &["0.0.0.0", "::"]).named(&own);
        let expected = [
            reached("203.0.113.7", "10.0.0.5"),
            reached("10.0.0.5", "10.0.0.5"),
            reached("2001:db8::9", "2001:db8::5"),
        ];
        assert_eq!(named, expected);
        let known = Known {
            reached: named,
            ..Known::default()
        };
        let behind = |advertised: &str, local: &str| [advertised, local].map(|address| address.parse().unwrap());
        let expected = [behind("203.0.113.7", "10.0.0.5"), behind("2001:db8::9", "2001:db8::5")];
        let expected = expected.map(|[advertised, local]: [IpAddr; 2]| (advertised, local));
        assert_eq!(known.behind_nat(), BTreeMap::from(expected));
        let none: Vec<IpAddr> = Vec::new();
        let named = addresses(&["203.0.113.7"], &["0.0.0.0"]).named(&none);
        assert_eq!(named[0].local, None);
    }

    #[test]
    fn loopback_and_link_local_addresses_are_left_out() {
        let own = ["127.0.0.1", "169.254.7.7", "10.0.0.5", "::1", "fe80::1", "fd00::5"];
        let own = own.map(|address| address.parse().unwrap());
        let reached = |bound: &str| reached_by(bound.parse().unwrap(), &own);
        assert_eq!(reached("0.0.0.0"), [own[2]]);
        assert_eq!(reached("::"), [own[5]]);
        assert_eq!(reached("169.254.7.7"), [own[1]], "it is named");
    }

    #[test]
    fn interfaces_and_networks_can_be_left_out() {
        let all = addresses(&[], &["0.0.0.0", "::"]);
        let without = |interfaces: Filter<String>, ips: Filter<Network>| Addresses {
            interfaces,
            ips,
            ..all.clone()
        };
        let excludes = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let nowhere = Filter {
            includes: vec!["no-such-interface".to_owned()],
            excludes: Vec::new(),
        };
        assert!(without(nowhere, Filter::default()).own().unwrap().is_empty());
        let no_network = Filter {
            includes: Vec::new(),
            excludes: excludes(&["0.0.0.0/0", "::/0"]),
        };
        assert!(without(Filter::default(), no_network).own().unwrap().is_empty());
    }
}
