//! The task of one client.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tracing::debug;
use turn::limits::DATA_MAX;
use turn::{Client, Outcome, Refusal, Times};

use super::TurnServer;
use super::counts::{Counted, TurnEvent};
use super::link::Link;
use super::users::Share;
use crate::clients::places::{Evicted, Place};
use crate::os::clock;

/// How long a client may be without an allocation.
const IDLE: Duration = Duration::from_secs(10);

/// Something that a client's task waits for.
enum Event {
    /// A message of the client; `None` is its last.
    Message(Option<Vec<u8>>),
    /// So many bytes from this address arrived at the relayed port.
    Relayed(io::Result<(usize, SocketAddr)>),
    /// The allocation may have expired.
    Due,
}

/// The port of an allocation.
struct Port {
    socket: UdpSocket,
    _share: Share,
    _counted: Counted,
}

/// Serves a client at `address` as long as it is there and has its place.
pub(super) async fn serve(server: Arc<TurnServer>, mut link: Link, address: SocketAddr, place: (Place, Evicted)) {
    let (place, mut evicted) = place;
    let mut client = Client::new(address);
    let mut port: Option<Port> = None;
    let mut is_joined = false;
    let mut idle_until = clock::now() + IDLE;
    let mut buffer = vec![0; DATA_MAX + 1];
    loop {
        let now = clock::now();
        let wait = client.due().unwrap_or(idle_until).saturating_duration_since(now);
        let event = tokio::select! {
            message = link.next() => Event::Message(message),
            received = receive(port.as_ref(), &mut buffer) => Event::Relayed(received),
            () = tokio::time::sleep(wait) => Event::Due,
            Ok(_) = &mut evicted, if !is_joined => {
                server.counts.add(TurnEvent::Full);
                return;
            }
        };
        let answer = match event {
            Event::Message(None) => return,
            Event::Message(Some(message)) => take(&server, &mut client, &mut port, &message).await,
            Event::Relayed(Ok((len, from))) => {
                let access = server.access();
                let peer = access.advertised_of(from);
                peer.and_then(|peer| client.receive_from_peer(&access.server, clock::now(), peer, &buffer[..len]))
            }
            // An error is that of an earlier datagram.
            Event::Relayed(Err(_)) => None,
            Event::Due => {
                client.expire(clock::now());
                if client.relayed().is_none() {
                    return;
                }
                None
            }
        };
        if client.relayed().is_none() {
            if port.take().is_some() {
                idle_until = clock::now() + IDLE;
            }
        } else if !is_joined {
            is_joined = place.join();
            if !is_joined {
                return;
            }
        }
        if let Some(answer) = answer
            && let Err(error) = link.send(answer).await
        {
            debug!(%error, "a TURN client failed");
            if error.kind() == io::ErrorKind::TimedOut {
                server.counts.add(TurnEvent::Slow);
            }
            return;
        }
    }
}

/// Takes a message of the client; returns the answer, if there is one.
async fn take(server: &TurnServer, client: &mut Client, port: &mut Option<Port>, message: &[u8]) -> Option<Vec<u8>> {
    let access = server.access();
    let outcome = client.receive(&access.server, times(), message, |user, family| {
        let share = server.users.enter(user).ok_or_else(|| {
            server.counts.add(TurnEvent::Quota);
            Refusal::Quota
        })?;
        let (socket, relayed) = access.open(family).map_err(|error| {
            debug!(%error, "no port for an allocation");
            server.counts.add(TurnEvent::NoPort);
            Refusal::NoPort
        })?;
        *port = Some(Port {
            socket,
            _share: share,
            _counted: server.counts.allocated(),
        });
        Ok(relayed)
    });
    match outcome {
        Outcome::Nothing => None,
        Outcome::Answer(answer) => Some(answer),
        Outcome::Forward { peer, data } => {
            if let (Some(port), Some(to)) = (port.as_ref(), access.local_of(peer)) {
                // An error drops it, as on any path.
                let _ = port.socket.send_to(data, to).await;
            }
            None
        }
    }
}

/// The time.
pub(super) fn times() -> Times {
    Times {
        now: clock::now(),
        unix: clock::unix(),
    }
}

/// Waits for a datagram at the relayed port, if there is one.
async fn receive(port: Option<&Port>, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    match port {
        Some(port) => port.socket.recv_from(buffer).await,
        None => pending().await,
    }
}
