//! One client: its messages, and the task of one with a stream or an allocation.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tracing::debug;
use turn::limits::DATA_MAX;
use turn::{Client, Outcome, Times};

use super::TurnServer;
use super::counts::TurnEvent;
use super::link::Link;
use super::ports::{self, Asker, Port};
use crate::clients::connection_slots::{ConnectionSlot, Evicted};
use crate::os::clock;

/// How long a client with a stream may be without an allocation.
const IDLE: Duration = Duration::from_secs(10);
/// How long nothing may come from the peers of an allocation that has had something from them.
/// Media answers the checks of a participant, which come every few seconds, so the participant has
/// left.
const GONE: Duration = Duration::from_secs(120);

/// A client, and the ports of its allocation.
pub(super) struct Session {
    client: Client,
    address: SocketAddr,
    ports: Vec<Port>,
    evicted: Arc<Notify>,
    /// When something last came from a peer.
    heard: Option<Instant>,
}

/// An answer to a client.
pub(super) struct Reply {
    pub bytes: Vec<u8>,
    /// Whether the sender has proved nothing.
    pub is_open: bool,
}

/// Something that a client's task waits for.
enum Event {
    /// A message of the client; `None` is its last.
    Message(Option<Vec<u8>>),
    /// So many bytes from this address arrived at the port with this number.
    Relayed(io::Result<(usize, usize, SocketAddr)>),
    /// The time is up.
    Due,
}

impl Session {
    /// A client without an allocation.
    pub(super) fn new(address: SocketAddr) -> Self {
        Session {
            client: Client::new(address),
            address,
            ports: Vec::new(),
            evicted: Arc::default(),
            heard: None,
        }
    }

    /// Whether it has an allocation.
    pub(super) fn is_allocated(&self) -> bool {
        !self.client.relayed().is_empty()
    }

    /// Takes a message of the client; returns the answer, if there is one.
    pub(super) async fn take(&mut self, server: &TurnServer, message: &[u8]) -> Option<Reply> {
        let access = server.access();
        let times = times();
        let Session { client, ports, .. } = self;
        let outcome = client.receive(&access.server, times, message, |user, request| {
            let asker = Asker {
                user,
                address: self.address.ip(),
                evicted: &self.evicted,
            };
            let (port, opened) = ports::open(server, &asker, request, times.now)?;
            ports.push(port);
            Ok(opened)
        });
        let reply = match outcome {
            Outcome::Nothing => None,
            Outcome::Answer(bytes) => Some(Reply { bytes, is_open: false }),
            Outcome::OpenAnswer(bytes) => Some(Reply { bytes, is_open: true }),
            Outcome::Forward { peer, data } => {
                let mut ports = ports.iter();
                let port = ports.find(|port| port.relayed.is_ipv4() == peer.is_ipv4());
                if let (Some(port), Some(to)) = (port, access.local_of(peer)) {
                    port.send(data, to).await;
                }
                None
            }
        };
        self.close_ports();
        reply
    }

    /// Takes a datagram that arrived at a port; returns the message for the client, if there is
    /// one.
    fn relay(&mut self, server: &TurnServer, port: usize, from: SocketAddr, data: &[u8]) -> Option<Vec<u8>> {
        let (access, now) = (server.access(), clock::now());
        let peer = access.advertised_of(from)?;
        let message = self.client.receive_from_peer(&access.server, now, peer, data)?;
        self.heard = Some(now);
        self.ports.get(port)?.share.hear(now);
        Some(message)
    }

    /// When the allocation ends, unless something happens.
    fn due(&self) -> Option<Instant> {
        let gone = self.heard.map(|heard| heard + GONE);
        self.client.due().map(|due| gone.map_or(due, |gone| gone.min(due)))
    }

    /// Ends an allocation whose time is up.
    fn expire(&mut self, now: Instant) {
        if self.heard.is_some_and(|heard| heard + GONE <= now) {
            self.client = Client::new(self.address);
        }
        self.client.expire(now);
        self.close_ports();
    }

    fn close_ports(&mut self) {
        let relayed = self.client.relayed();
        self.ports.retain(|port| relayed.contains(&port.relayed));
        if relayed.is_empty() {
            self.heard = None;
        }
    }
}

/// Serves a client as long as it is there and has its place. One without an allocation has a
/// `slot`, and one with datagrams is not served without.
pub(super) async fn serve(
    server: Arc<TurnServer>,
    mut link: Link,
    mut session: Session,
    mut slot: Option<(ConnectionSlot, Evicted)>,
) {
    let mut idle_until = clock::now() + IDLE;
    let mut buffer = vec![0; DATA_MAX + 1];
    let evicted = session.evicted.clone();
    loop {
        let until = session.due().unwrap_or(idle_until);
        let wait = until.saturating_duration_since(clock::now());
        let event = tokio::select! {
            message = link.next() => Event::Message(message),
            received = ports::receive(&session.ports, &mut buffer) => Event::Relayed(received),
            () = tokio::time::sleep(wait) => Event::Due,
            () = evicted.notified() => return server.counts.add(TurnEvent::Evicted),
            () = lost(&mut slot) => return server.counts.add(TurnEvent::Full),
        };
        let answer = match event {
            Event::Message(None) => return,
            Event::Message(Some(message)) => {
                let reply = session.take(&server, &message).await;
                let is_limited = |reply: &Reply| reply.is_open && link.is_forgeable();
                reply.filter(|reply| !is_limited(reply) || server.may_answer(session.address.ip()))
            }
            .map(|reply| reply.bytes),
            Event::Relayed(Ok((port, len, from))) => session.relay(&server, port, from, &buffer[..len]),
            // An error is that of an earlier datagram.
            Event::Relayed(Err(_)) => None,
            Event::Due => {
                session.expire(clock::now());
                if !session.is_allocated() {
                    return;
                }
                None
            }
        };
        if let Some(answer) = answer
            && let Err(error) = link.send(answer).await
        {
            debug!(%error, "a TURN client failed");
            if error.kind() == io::ErrorKind::TimedOut {
                server.counts.add(TurnEvent::Slow);
            }
            return;
        }
        match (session.is_allocated(), &slot) {
            (true, _) => slot = None,
            (false, Some(_)) => {}
            // The next message of its address makes another one.
            (false, None) if link.is_forgeable() => return,
            (false, None) => {
                idle_until = clock::now() + IDLE;
                match server.slots.enter(Some(session.address.ip()), clock::now()) {
                    Ok(pending) => slot = Some(pending),
                    Err(_) => return server.counts.add(TurnEvent::Full),
                }
            }
        }
    }
}

/// Waits until a place is lost.
async fn lost(slot: &mut Option<(ConnectionSlot, Evicted)>) {
    if let Some((_, evicted)) = slot
        && evicted.await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// The time.
pub(super) fn times() -> Times {
    Times {
        now: clock::now(),
        unix: clock::unix(),
    }
}
