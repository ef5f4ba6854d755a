//! The harness's names of addresses, and the real ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dataplane::{Accept, Path, Relay};
use ports::free_port;

use super::{Family, Ground, Peer, SocketDevice};
use crate::step::relay_of;

impl SocketDevice {
    fn is_v4(&self, path: Path) -> bool {
        self.family == Family::V4 || (self.family == Family::Both && path.remote.is_ipv4())
    }

    /// Addresses of the device and its peer on a path.
    fn ends(&self, path: Path) -> (IpAddr, IpAddr) {
        match (&self.ground, self.is_v4(path)) {
            (Ground::Loopback, true) => (Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()),
            (Ground::Loopback, false) => (Ipv6Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()),
            (Ground::Cable(pair), true) => (pair.near.v4.into(), pair.far.v4.into()),
            (Ground::Cable(pair), false) => (pair.near.v6.into(), pair.far.v6.into()),
        }
    }

    /// The real addresses of a path; the peer's socket is opened on first use.
    pub(super) fn real(&mut self, path: Path) -> Path {
        let (device, peer) = self.ends(path);
        let ground = &self.ground;
        let known = self.peers.entry(path.remote).or_insert_with(|| {
            let bind = || Peer::bind(SocketAddr::new(peer, 0), path.local).expect("there are ports");
            match ground {
                Ground::Loopback => bind(),
                Ground::Cable(pair) => pair.far.run(bind),
            }
        });
        let remote = known.socket.local_addr().expect("it is bound");
        let local = match relay_of(path.local) {
            Some(_) => self.real_relay(path.local),
            None => SocketAddr::new(device, self.plane.local_addr().port()),
        };
        Path { local, remote }
    }

    /// The real address of a relay: of a port that was free when it was asked for first, and that
    /// the kernel gives to nobody.
    pub(super) fn real_relay(&mut self, at: SocketAddr) -> SocketAddr {
        let (device, _) = self.ends(Path { local: at, remote: at });
        let ground = &self.ground;
        *self.relays.entry(at).or_insert_with(|| {
            let port = match ground {
                Ground::Loopback => free_port(),
                Ground::Cable(pair) => pair.near.run(free_port),
            };
            SocketAddr::new(device, port)
        })
    }

    /// A relay's entry with real addresses.
    pub(super) fn real_entry(&mut self, at: SocketAddr, relay: &mut Relay) -> SocketAddr {
        relay.accept = match relay.accept {
            Accept::Only(remote) => Accept::Only(self.real(Path { local: at, remote }).remote),
            Accept::Learn {
                within: Some(_),
                window,
                rtp_only,
            } => {
                let (_, peers) = self.ends(Path { local: at, remote: at });
                Accept::Learn {
                    within: Some(peers),
                    window,
                    rtp_only,
                }
            }
            accept => accept,
        };
        for hop in [&mut relay.rtp, &mut relay.rtcp].into_iter().flatten() {
            hop.path = self.real(hop.path);
        }
        self.real_relay(at)
    }

    /// The relay whose real address this is.
    pub(super) fn relay_at(&self, real: SocketAddr) -> Option<SocketAddr> {
        let mut relays = self.relays.iter();
        relays.find(|(_, address)| **address == real).map(|(at, _)| *at)
    }

    /// The path whose real addresses these are.
    pub(super) fn path_of(&self, real: Path) -> Path {
        let is_there = |peer: &Peer| peer.socket.local_addr().is_ok_and(|address| address == real.remote);
        let found = self.peers.iter().find(|(_, peer)| is_there(peer));
        found.map_or(real, |(remote, peer)| Path {
            local: self.relay_at(real.local).unwrap_or(peer.device),
            remote: *remote,
        })
    }
}
