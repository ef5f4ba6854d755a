//! A connection to another machine that relays calls.
//!
//! A message is its length in four bytes, the most significant one first, and then itself. The
//! first one in either direction is a hello.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use sip::limits::PASSED_MAX;
use sip::{PEER_VERSION, PeerMessage};
use southbound::NodeId;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::{info, warn};

use super::registry::{LinkId, Place};
use super::{Context, RelayEvent};
use crate::metrics::relay_peers::PeerFailure;

/// The longest message. Shape: bytes.
pub(super) const MESSAGE_LEN_MAX: usize = 1 << 20;

/// The longest answer of a request, with which a message is no longer than it may be.
pub(crate) const ANSWER_LEN_MAX: usize = MESSAGE_LEN_MAX - (1 << 10);

/// Messages that wait for the connection. A machine with more is disconnected.
const MESSAGES_MAX: usize = 8_192;

/// Messages of one machine that wait for the task of calls. With more it waits itself, and those of
/// the others are next.
pub(super) const INCOMING_MAX: usize = 64;

/// How long the other end may take for its hello.
const HELLO_MAX: Duration = Duration::from_secs(2);

/// How often each end gives a sign of life.
const PING_EVERY: Duration = Duration::from_secs(1);

/// How long the other end may be silent, or take none of what it is sent.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(4);

/// The way to another machine. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// The number of the connection.
    pub id: LinkId,
    messages: mpsc::Sender<PeerMessage>,
    /// The machine takes nothing.
    is_full: Arc<Notify>,
    /// Requests of that machine that may be on their way here.
    places: Arc<Semaphore>,
    /// Messages of that machine that may wait for the task of calls.
    incoming: Arc<Semaphore>,
}

impl Link {
    fn new(id: LinkId) -> (Self, mpsc::Receiver<PeerMessage>) {
        let (messages, outgoing) = mpsc::channel(MESSAGES_MAX);
        let link = Self {
            id,
            messages,
            is_full: Arc::default(),
            places: Arc::new(Semaphore::new(PASSED_MAX)),
            incoming: Arc::new(Semaphore::new(INCOMING_MAX)),
        };
        (link, outgoing)
    }

    /// Sends a message. The connection ends where too many wait.
    pub(crate) fn send(&self, message: PeerMessage) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.messages.try_send(message) {
            self.is_full.notify_one();
        }
    }

    /// A message of that machine waits no longer.
    pub(crate) fn taken(&self) {
        self.incoming.add_permits(1);
    }

    /// A place for a request of that machine; `None` if it has as many as it may have.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }
}

/// Exchanges hellos. Returns the id of the machine at the other end.
///
/// Errors: it says something else, or nothing.
pub(super) async fn greet<S>(stream: &mut S, own: NodeId) -> Result<NodeId, PeerFailure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let hello = PeerMessage::Hello {
        version: PEER_VERSION,
        node: own,
    };
    let greeting = async {
        write(stream, &hello).await.map_err(|_| PeerFailure::Broken)?;
        read(stream).await
    };
    match timeout(HELLO_MAX, greeting).await {
        Ok(Ok(PeerMessage::Hello { version, node })) if version == PEER_VERSION => Ok(node),
        Ok(Ok(PeerMessage::Hello { .. })) => Err(PeerFailure::Version),
        Ok(Ok(_)) => Err(PeerFailure::Malformed),
        Ok(Err(why)) => Err(why),
        Err(_) => Err(PeerFailure::Silent),
    }
}

/// The first message of the machine that has made a connection. It comes at once, unless that
/// machine was looking for another one: one that has started again has another id at its address.
///
/// Errors: the machine sends something else, or nothing.
pub(super) async fn confirmation(stream: &mut (impl AsyncRead + Unpin)) -> Result<PeerMessage, PeerFailure> {
    timeout(HELLO_MAX, read(stream))
        .await
        .map_err(|_| PeerFailure::Silent)?
}

/// Carries messages both ways until the connection ends. `first` has come already. `closed`
/// resolves when another connection has replaced this one.
pub(super) async fn run<S>(
    stream: S,
    (peer, name): (NodeId, &str),
    first: PeerMessage,
    (place, closed): (Place, oneshot::Receiver<()>),
    context: &Context,
) where
    S: AsyncRead + AsyncWrite,
{
    let id = place.id;
    let (link, outgoing) = Link::new(id);
    let (is_full, incoming) = (link.is_full.clone(), link.incoming.clone());
    let _open = context.counts.open();
    info!(name, peer = peer.0, "connected to another relay of calls");
    // An error means that the process ends, here and below.
    if context.events.send(RelayEvent::Joined(peer, link)).await.is_err() {
        return;
    }
    let sender = Sender {
        from: (peer, id),
        incoming,
        context,
    };
    sender.pass_on(first).await;
    let (reading, writing) = tokio::io::split(stream);
    let why = tokio::select! {
        why = receive(reading, &sender) => why,
        why = send(writing, outgoing) => why,
        Ok(()) = closed => PeerFailure::Twice,
        () = is_full.notified() => PeerFailure::Slow,
    };
    context.counts.failed(why);
    match why {
        PeerFailure::Malformed => warn!(name, "a relay of calls is disconnected: its message cannot be read"),
        why => info!(name, ?why, "the connection to another relay of calls is over"),
    }
    // Before it can be connected anew.
    let _ = context.events.send(RelayEvent::Left(peer, id)).await;
    drop(place);
}

/// The messages of a machine on their way to the task of calls.
struct Sender<'a> {
    from: (NodeId, LinkId),
    incoming: Arc<Semaphore>,
    context: &'a Context,
}

impl Sender<'_> {
    /// Passes a message on, once fewer than [`INCOMING_MAX`] wait. Returns whether there is
    /// somebody to read it.
    async fn pass_on(&self, message: PeerMessage) -> bool {
        if message == PeerMessage::Ping {
            return true;
        }
        let Ok(place) = self.incoming.acquire().await else {
            return false;
        };
        // The task gives it back.
        place.forget();
        let (peer, id) = self.from;
        let said = RelayEvent::Said(peer, id, message);
        self.context.events.send(said).await.is_ok()
    }
}

async fn receive(stream: impl AsyncRead + Unpin, sender: &Sender<'_>) -> PeerFailure {
    let mut stream = BufReader::new(stream);
    loop {
        match timeout(SILENCE_MAX, read(&mut stream)).await {
            Err(_) => return PeerFailure::Silent,
            Ok(Err(why)) => return why,
            Ok(Ok(message)) => {
                if !sender.pass_on(message).await {
                    return PeerFailure::Broken;
                }
            }
        }
    }
}

async fn send(mut stream: impl AsyncWrite + Unpin, mut outgoing: mpsc::Receiver<PeerMessage>) -> PeerFailure {
    let mut due = interval(PING_EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = outgoing.recv() => match message {
                Some(message) => message,
                // The task of calls has another connection.
                None => return PeerFailure::Twice,
            },
            _ = due.tick() => PeerMessage::Ping,
        };
        match timeout(SILENCE_MAX, write(&mut stream, &message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return PeerFailure::Broken,
            Err(_) => return PeerFailure::Slow,
        }
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), message: &PeerMessage) -> io::Result<()> {
    let body = message.encode();
    let len = u32::try_from(body.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    stream.write_all(&[&len.to_be_bytes(), &body[..]].concat()).await?;
    stream.flush().await
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<PeerMessage, PeerFailure> {
    let len = stream.read_u32().await.map_err(|_| PeerFailure::Broken)?;
    let len = usize::try_from(len).ok().filter(|len| *len <= MESSAGE_LEN_MAX);
    let mut body = Vec::new();
    let len = len.ok_or(PeerFailure::Malformed)? as u64;
    // Memory is taken as the bytes arrive, and not by what a length says.
    let read = stream.take(len).read_to_end(&mut body).await;
    match read {
        Ok(read) if read as u64 == len => PeerMessage::decode(&body).map_err(|_| PeerFailure::Malformed),
        Ok(_) | Err(_) => Err(PeerFailure::Broken),
    }
}
