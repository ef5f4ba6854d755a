//! One interface with our program on it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use bpf_retry::unless_taken;

use crate::hop::Mac;
use crate::netlink::Netlink;
use crate::program::{Program, mapped};
use crate::{AfxdpError, Step};

/// An interface whose RTP this device takes.
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mac: Mac,
    pub(crate) mtu: usize,
    pub(crate) program: Program,
    /// The addresses that the sockets are bound to.
    bound: Vec<SocketAddr>,
    /// The interface's own addresses among them, as given to the program.
    listens: BTreeSet<Ipv6Addr>,
}

impl Interface {
    /// Attaches the program to the interface. It takes nothing until it has sockets, and addresses
    /// from [`look_again`](Self::look_again).
    pub(crate) fn take(name: &str, bound: &[SocketAddr], netlink: &mut Netlink) -> Result<Self, AfxdpError> {
        let failed = |error| AfxdpError::of(Step::Interface, name, error);
        let look = || match netlink.link(name) {
            Ok(link) if link.has_xdp => Err(AfxdpError::Taken(name.to_owned())),
            looked => looked.map_err(failed),
        };
        let link = unless_taken(look, |error| matches!(error, AfxdpError::Taken(_)))?;
        let mac = link.mac.ok_or_else(|| AfxdpError::NotEthernet(name.to_owned()))?;
        let port = bound.first().map_or(0, SocketAddr::port);
        Ok(Interface {
            name: name.to_owned(),
            index: link.index,
            mac,
            mtu: link.mtu,
            program: Program::attach(name, link.index, port)?,
            bound: bound.to_vec(),
            listens: BTreeSet::new(),
        })
    }

    /// Looks at what may have changed. An interface that is gone leads nowhere.
    pub(crate) fn look_again(&mut self, netlink: &mut Netlink) {
        match netlink.link(&self.name) {
            Ok(link) if link.index == self.index => {
                self.mtu = link.mtu;
                self.mac = link.mac.unwrap_or(self.mac);
            }
            _ => self.mtu = 0,
        }
        let addresses = netlink.addresses(self.index).unwrap_or_default();
        let now: BTreeSet<Ipv6Addr> = addresses
            .into_iter()
            .filter(|address| self.is_bound(*address))
            .map(mapped)
            .collect();
        for gone in self.listens.difference(&now) {
            self.program.ignore(gone);
        }
        for new in now.difference(&self.listens) {
            self.program.listen(new);
        }
        self.listens = now;
    }

    /// Whether the sockets receive datagrams for this address. Link-local addresses are left to the
    /// sockets, because they are unique only together with a zone.
    fn is_bound(&self, address: IpAddr) -> bool {
        let only_v6 = self.bound.iter().all(SocketAddr::is_ipv6);
        let takes = |bound: &SocketAddr| {
            let takes_all = bound.ip().is_unspecified();
            bound.ip() == address || (takes_all && (bound.is_ipv4() == address.is_ipv4() || only_v6))
        };
        let has_zone = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
        !has_zone && self.bound.iter().any(takes)
    }
}
