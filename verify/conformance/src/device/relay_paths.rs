//! Relays of a device in either family, and the last packets that they passed on.
//!
//! The harness has IPv4 addresses for relays and their parties. A device in IPv6 has others.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Instant;

use dataplane::{Accept, Event, Path, Relay, Update};
use wire::{PacketKind, RtpPacket, Ssrc};

use super::Family;
use crate::step::relay_of;

/// The addresses of relays and parties, as a device has them.
pub(super) struct RelayPaths {
    is_v6: bool,
    /// The first six words of IPv6 addresses, for relays and for parties.
    networks: [[u16; 6]; 2],
}

impl RelayPaths {
    /// With these networks in IPv6, for relays and for parties.
    pub(super) fn new(family: Family, networks: [[u16; 6]; 2]) -> Self {
        RelayPaths {
            is_v6: family == Family::V6,
            networks,
        }
    }

    pub(super) fn is_v6(&self) -> bool {
        self.is_v6
    }

    fn moved(&self, address: SocketAddr, network: [u16; 6]) -> SocketAddr {
        match address.ip() {
            IpAddr::V4(ip) if self.is_v6 => {
                let [a, b, c, d, e, f] = network;
                let [first, second, third, last] = ip.octets();
                let (g, h) = (u16::from_be_bytes([first, second]), u16::from_be_bytes([third, last]));
                SocketAddr::new(Ipv6Addr::new(a, b, c, d, e, f, g, h).into(), address.port())
            }
            _ => address,
        }
    }

    /// The device's address of a relay.
    pub(super) fn relay(&self, address: SocketAddr) -> SocketAddr {
        self.moved(address, self.networks[0])
    }

    fn party(&self, address: SocketAddr) -> SocketAddr {
        self.moved(address, self.networks[1])
    }

    /// The harness's address for one of the device's.
    pub(super) fn back(&self, address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V6(ip) if self.is_v6 && self.networks.iter().any(|network| ip.segments().starts_with(network)) => {
                let [.., a, b, c, d] = ip.octets();
                SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), address.port())
            }
            _ => address,
        }
    }

    /// The device's path of a relay; that of a leg stays unchanged.
    pub(super) fn path(&self, path: Path) -> Path {
        match relay_of(path.local) {
            Some(_) => Path {
                local: self.relay(path.local),
                remote: self.party(path.remote),
            },
            None => path,
        }
    }

    /// The harness's path for one of the device's.
    pub(super) fn path_back(&self, path: Path) -> Path {
        Path {
            local: self.back(path.local),
            remote: self.back(path.remote),
        }
    }

    /// Puts the device's addresses into an entry.
    pub(super) fn translate(&self, update: &mut Update) {
        match update {
            Update::SetRelay(at, relay) => {
                *at = self.relay(*at);
                self.translate_relay(relay);
            }
            Update::RemoveRelay(at) => *at = self.relay(*at),
            _ => {}
        }
    }

    fn translate_relay(&self, relay: &mut Relay) {
        match &mut relay.accept {
            Accept::Nobody | Accept::Learn { within: None, .. } => {}
            Accept::Only(address) => *address = self.party(*address),
            Accept::Learn { within: Some(ip), .. } => *ip = self.party(SocketAddr::new(*ip, 0)).ip(),
        }
        for hop in [&mut relay.rtp, &mut relay.rtcp].into_iter().flatten() {
            hop.path = Path {
                local: self.relay(hop.path.local),
                remote: self.party(hop.path.remote),
            };
        }
    }
}

/// The last packet that a relay passed on. A device's times are not the harness's, so that they do
/// not tell whether a packet in an offload or one behind it was later.
struct LastPacket {
    at: Instant,
    /// Of the last RTP packet.
    ssrc: Option<Ssrc>,
}

/// The last packets of relays, by the device's addresses.
#[derive(Default)]
pub(super) struct LastPackets(BTreeMap<SocketAddr, LastPacket>);

impl LastPackets {
    /// The relay has passed a packet on.
    pub(super) fn passed(&mut self, relay: SocketAddr, at: Instant, bytes: &[u8]) {
        let ssrc = match wire::classify(bytes) {
            PacketKind::Rtp => RtpPacket::parse_protected(bytes).ok().map(|packet| packet.ssrc()),
            _ => self.0.get(&relay).and_then(|passed| passed.ssrc),
        };
        self.0.insert(relay, LastPacket { at, ssrc });
    }

    /// The SSRC of the last RTP packet that a relay passed on.
    pub(super) fn ssrc(&self, relay: SocketAddr) -> Option<Ssrc> {
        self.0.get(&relay).and_then(|passed| passed.ssrc)
    }

    /// The relay begins anew.
    pub(super) fn forget(&mut self, relay: SocketAddr) {
        self.0.remove(&relay);
    }

    /// Puts the harness's addresses, and times and SSRCs of last packets, into an event.
    pub(super) fn translate(&self, paths: &RelayPaths, event: &mut Event) {
        match event {
            Event::Punt { path, .. } => *path = paths.path_back(*path),
            Event::RelaySource { at, from } => (*at, *from) = (paths.back(*at), paths.back(*from)),
            Event::RelayTraffic { at, last, traffic } => {
                let passed = self.0.get(at);
                *last = last.and(passed.map(|passed| passed.at));
                traffic.ssrc = traffic.ssrc.and(passed.and_then(|passed| passed.ssrc));
                *at = paths.back(*at);
            }
            _ => {}
        }
    }
}
