//! Messages of route netlink: interfaces, addresses, routes and neighbours, as far as next hops
//! need them.
//!
//! Source: rtnetlink(7); `linux/rtnetlink.h`, `linux/neighbour.h`, `linux/if_link.h`. All numbers
//! are in the machine's byte order.

mod message;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::hop::Mac;
use crate::sys::NetlinkSocket;
use message::{Message, attributes, messages, number};

/// Room for any answer the kernel makes in one go.
const BUFFER: usize = 64 * 1024;

const ROUTE_MTU: u16 = 2;
const XDP_ATTACHED: u16 = 2;
const ETHERNET: u16 = 1;
/// States in which a neighbour's address may be used: reachable, stale, delay, probe, no ARP,
/// permanent.
const USABLE: u16 =
    libc::NUD_REACHABLE | libc::NUD_STALE | libc::NUD_DELAY | libc::NUD_PROBE | libc::NUD_NOARP | libc::NUD_PERMANENT;

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    /// `None` for what is not Ethernet.
    pub(crate) mac: Option<Mac>,
    pub(crate) mtu: usize,
    pub(crate) has_xdp: bool,
}

/// A way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) interface: u32,
    /// The neighbour to resolve: the gateway, or the receiver itself.
    pub(crate) via: IpAddr,
    /// The route's MTU, where it is less than the interface's.
    pub(crate) mtu: Option<usize>,
}

/// Somebody on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    pub(crate) interface: u32,
    pub(crate) address: IpAddr,
    /// `None` while it is not known, or no more.
    pub(crate) mac: Option<Mac>,
    /// Known from before; the kernel would ask again if it were used.
    pub(crate) stale: bool,
}

/// Something changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Neighbour(Neighbour),
    /// A route, an address or an interface.
    Ways,
}

/// Asks and hears.
pub(crate) struct Netlink {
    socket: NetlinkSocket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Netlink {
    /// For questions.
    pub(crate) fn to_ask() -> io::Result<Self> {
        Self::open(0)
    }

    /// For news of everything that next hops depend on.
    pub(crate) fn to_hear() -> io::Result<Self> {
        let groups = libc::RTMGRP_LINK
            | libc::RTMGRP_NEIGH
            | libc::RTMGRP_IPV4_ROUTE
            | libc::RTMGRP_IPV6_ROUTE
            | libc::RTMGRP_IPV4_IFADDR
            | libc::RTMGRP_IPV6_IFADDR
            | libc::RTMGRP_IPV4_RULE;
        Self::open(groups as u32)
    }

    fn open(groups: u32) -> io::Result<Self> {
        Ok(Netlink {
            socket: NetlinkSocket::open(groups)?,
            buffer: vec![0; BUFFER],
            sequence: 0,
        })
    }

    pub(crate) fn descriptor(&self) -> i32 {
        self.socket.descriptor()
    }

    /// The interface of this name.
    pub(crate) fn link(&mut self, name: &str) -> io::Result<Link> {
        let mut request = Message::new(libc::RTM_GETLINK, 0, &[0; 16]);
        let mut name = name.as_bytes().to_vec();
        name.push(0);
        request.attribute(libc::IFLA_IFNAME, &name);
        self.ask(request, |kind, body| {
            (kind == libc::RTM_NEWLINK).then(|| read_link(body)).flatten()
        })
    }

    /// The addresses of an interface.
    pub(crate) fn addresses(&mut self, interface: u32) -> io::Result<Vec<IpAddr>> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let body = [family as u8, 0, 0, 0, 0, 0, 0, 0];
            let request = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP as u16, &body);
            self.ask_all(request, |kind, body| {
                if kind == libc::RTM_NEWADDR
                    && let Some((index, address)) = read_address(body)
                    && index == interface
                {
                    found.push(address);
                }
            })?;
        }
        Ok(found)
    }

    /// The route from one address to another; `None` where there is none over a link.
    pub(crate) fn route(&mut self, from: IpAddr, to: IpAddr) -> Option<Route> {
        let bits = if to.is_ipv4() { 32 } else { 128 };
        let body = [family(to), bits, bits, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut request = Message::new(libc::RTM_GETROUTE, 0, &body);
        request.attribute(libc::RTA_DST, &octets(to));
        request.attribute(libc::RTA_SRC, &octets(from));
        let read = |kind, body: &[u8]| (kind == libc::RTM_NEWROUTE).then(|| read_route(body, to));
        self.ask(request, read).ok().flatten()
    }

    /// The kernel's entry of a neighbour.
    pub(crate) fn neighbour(&mut self, interface: u32, address: IpAddr) -> Option<Neighbour> {
        let request = neighbour_request(libc::RTM_GETNEIGH, 0, 0, interface, address);
        self.ask(request, |kind, body| {
            (kind == libc::RTM_NEWNEIGH).then(|| read_neighbour(body)).flatten()
        })
        .ok()
    }

    /// Has the kernel make sure of a neighbour, as it does when it sends there itself.
    pub(crate) fn confirm(&mut self, interface: u32, address: IpAddr) {
        let flags = libc::NLM_F_CREATE as u16;
        let request = neighbour_request(libc::RTM_NEWNEIGH, flags, libc::NTF_USE, interface, address);
        // The result is not in the answer: a change is reported as news.
        let _ = self.ask(request, |_, _| None::<()>);
    }

    /// All changes since the last time. An error means that some were missed.
    pub(crate) fn changes(&mut self, mut hear: impl FnMut(Change)) -> io::Result<()> {
        loop {
            match self.socket.receive(&mut self.buffer) {
                Ok(datagram) => {
                    for (kind, _, body) in messages(datagram) {
                        match kind {
                            libc::RTM_NEWNEIGH => {
                                if let Some(neighbour) = read_neighbour(body) {
                                    hear(Change::Neighbour(neighbour));
                                }
                            }
                            libc::RTM_DELNEIGH => {
                                if let Some(neighbour) = read_neighbour(body) {
                                    hear(Change::Neighbour(Neighbour { mac: None, ..neighbour }));
                                }
                            }
                            _ => hear(Change::Ways),
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// The first thing `read` finds in the answer.
    fn ask<T>(&mut self, request: Message, mut read: impl FnMut(u16, &[u8]) -> Option<T>) -> io::Result<T> {
        let mut found = None;
        self.ask_all(request, |kind, body| found = found.take().or_else(|| read(kind, body)))?;
        found.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Sends a request and reads up to its acknowledgement. The kernel answers before `send`
    /// returns, so nothing is waited for.
    fn ask_all(&mut self, request: Message, mut read: impl FnMut(u16, &[u8])) -> io::Result<()> {
        self.sequence += 1;
        let is_dump = request.is_dump;
        self.socket.send(&request.finish(self.sequence))?;
        loop {
            let datagram = self.socket.receive(&mut self.buffer)?;
            for (kind, sequence, body) in messages(datagram) {
                match i32::from(kind) {
                    _ if sequence != self.sequence => {}
                    libc::NLMSG_ERROR => return acknowledged(body),
                    libc::NLMSG_DONE if is_dump => return Ok(()),
                    _ => read(kind, body),
                }
            }
        }
    }
}

fn acknowledged(body: &[u8]) -> io::Result<()> {
    match number(body) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error((error as i32).wrapping_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn read_link(body: &[u8]) -> Option<Link> {
    let kind = u16::from_ne_bytes(body.get(2..4)?.try_into().ok()?);
    let mut link = Link {
        index: number(body.get(4..)?)?,
        mac: None,
        mtu: 0,
        has_xdp: false,
    };
    for (name, value) in attributes(body.get(16..)?) {
        match name {
            libc::IFLA_ADDRESS if kind == ETHERNET => link.mac = Mac::read(value),
            libc::IFLA_MTU => link.mtu = number(value)? as usize,
            libc::IFLA_XDP => {
                let attached = attributes(value).find(|(name, _)| *name == XDP_ATTACHED);
                link.has_xdp = attached.is_some_and(|(_, value)| value.first().is_some_and(|mode| *mode != 0));
            }
            _ => {}
        }
    }
    Some(link)
}

fn read_address(body: &[u8]) -> Option<(u32, IpAddr)> {
    let index = number(body.get(4..)?)?;
    let mut found = None;
    for (name, value) in attributes(body.get(8..)?) {
        match name {
            // On a point-to-point link, IFA_ADDRESS is the remote address, and this is the local
            // one.
            libc::IFA_LOCAL => return Some((index, read_ip(value)?)),
            libc::IFA_ADDRESS => found = read_ip(value),
            _ => {}
        }
    }
    Some((index, found?))
}

fn read_route(body: &[u8], to: IpAddr) -> Option<Route> {
    if *body.get(7)? != libc::RTN_UNICAST {
        return None;
    }
    let (mut interface, mut via, mut mtu) = (None, to, None);
    for (name, value) in attributes(body.get(12..)?) {
        match name {
            libc::RTA_OIF => interface = number(value),
            libc::RTA_GATEWAY => via = read_ip(value)?,
            // A gateway of the other family: its family, then its address.
            libc::RTA_VIA => via = read_ip(value.get(2..)?)?,
            libc::RTA_METRICS => {
                let limit = attributes(value).find(|(name, _)| *name == ROUTE_MTU);
                mtu = limit.and_then(|(_, value)| number(value)).map(|mtu| mtu as usize);
            }
            _ => {}
        }
    }
    Some(Route {
        interface: interface?,
        via,
        mtu,
    })
}

fn read_neighbour(body: &[u8]) -> Option<Neighbour> {
    let state = u16::from_ne_bytes(body.get(8..10)?.try_into().ok()?);
    let (mut address, mut mac) = (None, None);
    for (name, value) in attributes(body.get(12..)?) {
        match name {
            libc::NDA_DST => address = read_ip(value),
            libc::NDA_LLADDR => mac = Mac::read(value),
            _ => {}
        }
    }
    Some(Neighbour {
        interface: number(body.get(4..)?)?,
        address: address?,
        mac: mac.filter(|_| state & USABLE != 0),
        stale: state & libc::NUD_STALE != 0,
    })
}

fn neighbour_request(kind: u16, flags: u16, neighbour_flags: u8, interface: u32, address: IpAddr) -> Message {
    let mut body = [0; 12];
    body[0] = family(address);
    body[4..8].copy_from_slice(&interface.to_ne_bytes());
    body[10] = neighbour_flags;
    let mut request = Message::new(kind, flags, &body);
    request.attribute(libc::NDA_DST, &octets(address));
    request
}

fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    family as u8
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn read_ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()),
        16 => Some(Ipv6Addr::from(*bytes.first_chunk::<16>()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers() {
        let mut netlink = Netlink::to_ask().unwrap();
        let loopback = netlink.link("lo").unwrap();
        assert_eq!((loopback.index, loopback.mac, loopback.has_xdp), (1, None, false));
        let addresses = netlink.addresses(1).unwrap();
        assert!(addresses.contains(&Ipv4Addr::LOCALHOST.into()), "{addresses:?}");
        assert_eq!(netlink.link("nosuch0").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        // There is no route over a link to the machine's own address.
        assert_eq!(
            netlink.route(Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()),
            None
        );
    }
}
