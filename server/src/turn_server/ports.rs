//! The ports of allocations.

use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tracing::debug;
use turn::limits::RESERVED_FOR;
use turn::{Family, Opened, PortRequest, Refusal, Token};

use super::allocations::Share;
use super::counts::{Counted, TurnEvent};
use super::{Access, TurnServer};

/// How often a port is opened for an even number, whose next one is to be free.
const TRIES: usize = 64;
/// How many ports are kept for tokens. There are no more of them.
const RESERVED_MAX: usize = 256;

/// The port of an allocation, for one family.
pub(super) struct Port {
    socket: UdpSocket,
    /// Its address as clients and peers know it.
    pub relayed: SocketAddr,
    pub share: Share,
    _counted: Counted,
}

/// Ports that are kept for the clients with their tokens.
#[derive(Default)]
pub(super) struct Reservations(Mutex<HashMap<Token, Reserved>>);

struct Reserved {
    user: String,
    until: Instant,
    socket: UdpSocket,
    relayed: SocketAddr,
    share: Share,
}

/// The client that wants a port.
pub(super) struct Asker<'a> {
    /// The name in its credentials.
    pub user: &'a str,
    pub address: IpAddr,
    /// Notified when its allocation has to end.
    pub evicted: &'a Arc<Notify>,
}

/// Opens a port as it is asked for.
pub(super) fn open(
    server: &TurnServer,
    asker: &Asker<'_>,
    request: PortRequest,
    now: Instant,
) -> Result<(Port, Opened), Refusal> {
    let enter = || {
        let share = server.allocations.enter(asker.user, asker.address, now, asker.evicted);
        share.inspect_err(|refusal| server.counts.add(if_full(*refusal)))
    };
    let no_port = |error: io::Error| {
        debug!(%error, "no port for an allocation");
        server.counts.add(TurnEvent::NoPort);
        Refusal::NoPort
    };
    let access = server.access();
    let port = |(socket, relayed), share| Port {
        socket,
        relayed,
        share,
        _counted: server.counts.allocated(),
    };
    let (port, token) = match request {
        PortRequest::Any(family) => (port(access.open(family).map_err(no_port)?, enter()?), None),
        PortRequest::Even { family, reserve_next } => {
            let share = enter()?;
            let (even, next) = even(&access, family, reserve_next).map_err(no_port)?;
            let token = match next {
                Some(next) => Some(server.reservations.keep(asker, next, enter()?, now)?),
                None => None,
            };
            (port(even, share), token)
        }
        PortRequest::Reserved(token) => {
            let kept = server.reservations.take(asker, &token, now).ok_or(Refusal::NoPort)?;
            (port((kept.socket, kept.relayed), kept.share), None)
        }
    };
    let relayed = port.relayed;
    Ok((port, Opened { relayed, token }))
}

fn if_full(refusal: Refusal) -> TurnEvent {
    match refusal {
        Refusal::Quota => TurnEvent::Quota,
        Refusal::NoPort => TurnEvent::Full,
    }
}

type Bound = (UdpSocket, SocketAddr);

/// A port with an even number, and the next one if it is to be kept.
fn even(access: &Access, family: Family, with_next: bool) -> io::Result<(Bound, Option<Bound>)> {
    let mut held = Vec::new();
    for _ in 0..TRIES {
        let (socket, relayed) = access.open(family)?;
        if relayed.port() % 2 == 0 {
            let next = with_next
                .then(|| access.open_at(family, relayed.port() + 1))
                .transpose();
            if let Ok(next) = next {
                return Ok(((socket, relayed), next));
            }
        }
        // Kept open until the end, so that the system gives another one.
        held.push(socket);
    }
    Err(io::ErrorKind::AddrInUse.into())
}

impl Reservations {
    fn keep(&self, asker: &Asker<'_>, bound: Bound, share: Share, now: Instant) -> Result<Token, Refusal> {
        let mut token = Token::default();
        getrandom::fill(&mut token).map_err(|_| Refusal::NoPort)?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, kept| kept.until > now);
        if all.len() >= RESERVED_MAX {
            return Err(Refusal::NoPort);
        }
        let (socket, relayed) = bound;
        let kept = Reserved {
            user: asker.user.to_owned(),
            until: now + RESERVED_FOR,
            socket,
            relayed,
            share,
        };
        all.insert(token, kept);
        Ok(token)
    }

    /// The port that was kept for a user.
    fn take(&self, asker: &Asker<'_>, token: &Token, now: Instant) -> Option<Reserved> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, kept| kept.until > now);
        let is_own = all.get(token).is_some_and(|kept| kept.user == asker.user);
        let kept = is_own.then(|| all.remove(token)).flatten()?;
        drop(all);
        kept.share.move_to(asker.evicted).then_some(kept)
    }
}

/// Waits for a datagram at one of a client's ports, at most one of each family. The number of the
/// port, the length and the sender are those of the datagram.
pub(super) async fn receive(ports: &[Port], buffer: &mut [u8]) -> io::Result<(usize, usize, SocketAddr)> {
    let at = match ports {
        [] => pending().await,
        [only] => {
            let (len, from) = only.socket.recv_from(buffer).await?;
            return Ok((0, len, from));
        }
        [first, second, ..] => tokio::select! {
            readable = first.socket.readable() => readable.map(|()| 0)?,
            readable = second.socket.readable() => readable.map(|()| 1)?,
        },
    };
    let (len, from) = ports[at].socket.try_recv_from(buffer)?;
    Ok((at, len, from))
}

impl Port {
    /// Sends a datagram to a peer.
    pub(super) async fn send(&self, data: &[u8], to: SocketAddr) {
        // An error drops it, as on any path.
        let _ = self.socket.send_to(data, to).await;
    }
}
