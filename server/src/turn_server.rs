//! The TURN server: clients that reach only one port of this machine get media through it.
//!
//! Each client is a task of its own, over UDP or a stream. It relays to this server's media and to
//! nothing else ([`turn::Server`]), from a port that is opened for its allocation.

mod allocations;
mod client;
mod counts;
mod datagrams;
mod link;
mod ports;
mod streams;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use access::TurnSecret;
use tokio::net::UdpSocket;
use tracing::{info, warn};
use turn::{AnswerLimit, Family};

use crate::clients::connection_slots::{ConnectionSlots, Limits};
use crate::os::port_owner::Transport;
use crate::os::refused;
use crate::os::{clock, tcp, udp};
use allocations::Allocations;
pub(crate) use counts::TurnStatistics;
use counts::{Counts, TurnEvent};
use ports::Reservations;
pub(crate) use streams::admit;

/// The realm of credentials.
const REALM: &str = "weir";

/// How many clients with a stream and without an allocation there may be. They give way to the
/// next.
const LIMITS: Limits = Limits {
    all: 1_024,
    per_address: 64,
    pending_per_address: 64,
};

/// An address of media as clients know it, and as this machine reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// In descriptions.
    pub advertised: SocketAddr,
    /// On this machine.
    pub local: SocketAddr,
}

/// The parts that all clients share.
pub(crate) struct TurnServer {
    access: RwLock<Arc<Access>>,
    slots: ConnectionSlots,
    allocations: Allocations,
    reservations: Reservations,
    open_answers: Mutex<AnswerLimit>,
    counts: Arc<Counts>,
}

/// The peers that clients have access to, and by which secret.
struct Access {
    server: turn::Server,
    peers: Vec<Peer>,
}

impl TurnServer {
    /// A server that gives access by `secret` to `peers`. `seed` is random.
    pub(crate) fn new(secret: TurnSecret, seed: &[u8; 32], peers: Vec<Peer>) -> Self {
        let server = turn::Server::new(REALM, secret, seed, advertised(&peers));
        TurnServer {
            access: RwLock::new(Arc::new(Access { server, peers })),
            slots: ConnectionSlots::new(LIMITS),
            allocations: Allocations::new(allocations::LIMITS, clock::now()),
            reservations: Reservations::default(),
            open_answers: Mutex::new(AnswerLimit::new(clock::now())),
            counts: Arc::default(),
        }
    }

    /// Gives access to these peers from now on, instead of the earlier ones.
    pub(crate) fn set_peers(&self, peers: Vec<Peer>) {
        let server = self.access().server.with_peers(advertised(&peers));
        let access = Arc::new(Access { server, peers });
        *self.access.write().unwrap_or_else(PoisonError::into_inner) = access;
    }

    /// The counts, for operators.
    pub(crate) fn statistics(&self) -> TurnStatistics {
        TurnStatistics(self.counts.clone())
    }

    /// Whether a sender that has proved nothing is answered over UDP. It counts then.
    fn may_answer(&self, address: IpAddr) -> bool {
        let mut limit = self.open_answers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_admitted = limit.admits(clock::now(), address);
        if !is_admitted {
            self.counts.add(TurnEvent::Limited);
        }
        is_admitted
    }

    /// The access that clients have now.
    fn access(&self) -> Arc<Access> {
        self.access.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Access {
    /// Opens a port for an allocation. Clients are told of an address of media with that port: only
    /// media is to reach it, and does not need it.
    ///
    /// Errors: the operating system's; `AddrNotAvailable` where media has no address of the family.
    fn open(&self, family: Family) -> io::Result<(UdpSocket, SocketAddr)> {
        self.open_at(family, 0)
    }

    /// The same with this number; 0 is any.
    fn open_at(&self, family: Family, number: u16) -> io::Result<(UdpSocket, SocketAddr)> {
        let (any, is_v4): (IpAddr, bool) = match family {
            Family::V4 => (Ipv4Addr::UNSPECIFIED.into(), true),
            Family::V6 => (Ipv6Addr::UNSPECIFIED.into(), false),
        };
        let peer = self.peers.iter().find(|peer| peer.advertised.is_ipv4() == is_v4);
        let peer = peer.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let socket = udp::bind(SocketAddr::new(any, number))?;
        let port = socket.local_addr()?.port();
        Ok((socket, SocketAddr::new(peer.advertised.ip(), port)))
    }

    /// The address on this machine of a peer that clients know.
    fn local_of(&self, advertised: SocketAddr) -> Option<SocketAddr> {
        let peer = self.peers.iter().find(|peer| peer.advertised == advertised)?;
        Some(peer.local)
    }

    /// The address by which clients know a peer.
    fn advertised_of(&self, local: SocketAddr) -> Option<SocketAddr> {
        let local = SocketAddr::new(local.ip().to_canonical(), local.port());
        let peer = self.peers.iter().find(|peer| peer.local == local)?;
        Some(peer.advertised)
    }
}

fn advertised(peers: &[Peer]) -> Vec<SocketAddr> {
    peers.iter().map(|peer| peer.advertised).collect()
}

/// Opens a UDP and a TCP port on all addresses, and serves clients there from now on. One family
/// may be missing on this machine, but not all.
///
/// Errors: the operating system's, with its cure.
pub(crate) fn serve(server: &Arc<TurnServer>, addresses: &[IpAddr], port: u16) -> Result<(), String> {
    let mut outcome = Err("no address is left to serve TURN at".to_owned());
    for address in addresses {
        let at = SocketAddr::new(*address, port);
        let refused =
            |transport| move |error: io::Error| (refused::port(transport, at, "turn.port", &error), error.kind());
        let opened = udp::bind_shared(at).map_err(refused(Transport::Udp));
        match opened.and_then(|socket| Ok((socket, tcp::bind(at).map_err(refused(Transport::Tcp))?))) {
            Ok((socket, listener)) => {
                tokio::spawn(datagrams::serve(server.clone(), Arc::new(socket)));
                tokio::spawn(streams::serve(server.clone(), listener));
                info!(address = %at, "TURN");
                outcome = Ok(());
            }
            Err((error, kind)) if addresses.len() > 1 && kind != io::ErrorKind::AddrInUse => {
                warn!(address = %at, %error, "no TURN");
                outcome = outcome.or(Err(error));
            }
            Err((error, _)) => return Err(error),
        }
    }
    outcome
}

/// The addresses of the server as clients are told them.
pub(crate) fn urls(addresses: &[IpAddr], port: u16) -> Vec<String> {
    let of = |address: &IpAddr| {
        let at = SocketAddr::new(*address, port);
        ["udp", "tcp"].map(|transport| format!("turn:{at}?transport={transport}"))
    };
    addresses.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests;
