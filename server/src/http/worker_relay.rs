//! A worker of agents, for the controllers that it is not connected to.
//!
//! Each controller offers the jobs of its own rooms, and a job is offered by one controller only.
//! So the controller that a worker is connected to opens a WebSocket to each other one in the
//! worker's name, passes its messages on to all, and passes offers and assignments back. Messages
//! about the job of another controller are ignored where they arrive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use access::Claims;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use bytes::Bytes;
use controller::ConnectionId;
use livekit::Frame;
use livekit::agents::{MESSAGE_MAX, RelayedWorker};
use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use tracing::debug;

use super::elsewhere;
use super::state::Http;
use crate::cluster::forward::{ClientLink, Forwarder};
use crate::frontends::agents::Handle;
use crate::os::clock;
use crate::settings::Current;
use crate::websocket::{Memory, Message, Reader, Writer, split_client};

/// Messages of a worker that wait for one controller. If it takes too long, the connection to it is
/// made again, with all that it has to know.
const MESSAGES_MAX: usize = 32;

/// How often the cluster is asked which controllers run, and a lost connection is made again.
const CONTROLLERS_EVERY: Duration = Duration::from_secs(2);

/// Without a sign of life for this long a controller counts as lost. It asks every 10 s.
const SILENCE_MAX: Duration = Duration::from_secs(35);

/// How long a controller may take to read a message.
const SEND_MAX: Duration = Duration::from_secs(10);

/// How long a token in the worker's name is valid.
const TOKEN_LIFE: Duration = Duration::from_secs(60);

/// Answers to a controller's pings that wait.
const REPLIES_MAX: usize = 4;

/// The way of one worker to the other controllers.
pub(super) struct WorkerRelay {
    forwarder: Forwarder,
    head: Parts,
    /// The claims of its token, which may expire while it is connected.
    claims: Claims,
    settings: Current,
    link: ClientLink,
    agents: Handle,
    memory: Memory,
    worker: Mutex<RelayedWorker>,
}

impl WorkerRelay {
    /// For the request of a worker; `None` where there are no other controllers, and for a request
    /// that one of them makes in a worker's name.
    pub(super) fn of(http: &Http, head: &Parts, claims: &Claims) -> Option<Self> {
        if http.forwarder.is_local() || elsewhere::is_forwarded(head) {
            return None;
        }
        let link = elsewhere::link(head)?;
        let mut head = head.clone();
        head.extensions.clear();
        head.uri = Uri::from_static("/agent");
        Some(Self {
            forwarder: http.forwarder.clone(),
            head,
            claims: claims.clone(),
            settings: http.settings.clone(),
            link,
            agents: http.front_ends.agents.clone(),
            memory: http.reading.clone(),
            worker: Mutex::default(),
        })
    }

    /// Begins, for the connection of the worker. Ends when the returned queue is dropped.
    pub(super) fn start(self, connection: ConnectionId) -> mpsc::Sender<Frame> {
        let (said, messages) = mpsc::channel(MESSAGES_MAX);
        tokio::spawn(run(Arc::new(self), connection, messages));
        said
    }

    /// The head of a request in the worker's name; `None` if its API key was removed.
    fn head(&self) -> Option<Parts> {
        let mut claims = self.claims.clone();
        claims.exp = Some((clock::unix() + TOKEN_LIFE).as_secs());
        let token = access::sign(&claims, &self.settings.get().keys)?;
        let mut head = self.head.clone();
        let value = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        head.headers.insert(header::AUTHORIZATION, value);
        Some(head)
    }

    fn worker(&self) -> MutexGuard<'_, RelayedWorker> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes messages of a worker on to the other controllers that run.
async fn run(relay: Arc<WorkerRelay>, connection: ConnectionId, mut messages: mpsc::Receiver<Frame>) {
    // Aborted when it is dropped.
    let mut tasks = JoinSet::new();
    let mut links: HashMap<String, mpsc::Sender<Frame>> = HashMap::new();
    let mut due = interval(CONTROLLERS_EVERY);
    loop {
        let frame = tokio::select! {
            frame = messages.recv() => match frame {
                Some(frame) => Some(frame),
                None => return,
            },
            _ = due.tick() => None,
        };
        match frame {
            Some(frame) => {
                let was_registered = relay.worker().is_registered();
                if relay.worker().worker_said(&frame) {
                    // A controller that takes none has its connection made again.
                    links.retain(|_, link| link.try_send(frame.clone()).is_ok());
                }
                if !was_registered && relay.worker().is_registered() {
                    due.reset_immediately();
                }
            }
            None if relay.worker().is_registered() => {
                while tasks.try_join_next().is_some() {}
                let Ok(controllers) = relay.forwarder.controllers().await else {
                    continue;
                };
                links.retain(|address, link| controllers.contains(address) && !link.is_closed());
                for address in controllers {
                    let relay = relay.clone();
                    links.entry(address.clone()).or_insert_with(|| {
                        let (link, told) = mpsc::channel(MESSAGES_MAX);
                        tasks.spawn(async move { converse(&relay, connection, &address, told).await });
                        link
                    });
                }
            }
            None => {}
        }
    }
}

/// Speaks with one controller in the worker's name until either is gone.
async fn converse(relay: &WorkerRelay, connection: ConnectionId, address: &str, messages: mpsc::Receiver<Frame>) {
    let Some(head) = relay.head() else { return };
    let Some(stream) = relay.forwarder.open(address, &head, relay.link).await else {
        return;
    };
    let (reader, writer) = split_client(stream, MESSAGE_MAX, &relay.memory);
    let (replies, to_reply) = mpsc::channel(REPLIES_MAX);
    tokio::select! {
        () = read(relay, connection, reader, replies) => {}
        _ = write(relay, writer, messages, to_reply) => {}
    }
    debug!(address, %connection, "a worker is not connected to another controller any more");
}

async fn read<R>(relay: &WorkerRelay, connection: ConnectionId, mut reader: Reader<R>, replies: mpsc::Sender<Bytes>)
where
    R: tokio::io::AsyncRead + Unpin,
{
    while let Ok(Some(Ok(message))) = timeout(SILENCE_MAX, reader.next()).await {
        let frame = match message {
            Message::Binary(bytes) => Frame::Binary(bytes),
            Message::Text(text) => Frame::Text(text.into()),
            Message::Ping(payload) => {
                // A controller that pings faster than it reads the answers gets fewer of them.
                let _ = replies.try_send(payload);
                continue;
            }
            Message::Pong => continue,
            Message::Close(_) => return,
        };
        let is_for_worker = relay.worker().server_said(&frame);
        if is_for_worker {
            relay.agents.relay(connection, frame).await;
        }
    }
}

/// Errors: the controller is gone, or does not read.
async fn write<W>(
    relay: &WorkerRelay,
    mut writer: Writer<W>,
    mut messages: mpsc::Receiver<Frame>,
    mut replies: mpsc::Receiver<Bytes>,
) -> std::io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let opening = relay.worker().opening();
    for frame in &opening {
        timeout(SEND_MAX, send(&mut writer, frame)).await??;
    }
    loop {
        tokio::select! {
            frame = messages.recv() => match frame {
                Some(frame) => timeout(SEND_MAX, send(&mut writer, &frame)).await??,
                None => return writer.close(1000, "the worker is gone").await,
            },
            Some(payload) = replies.recv() => timeout(SEND_MAX, writer.pong(&payload)).await??,
        }
    }
}

async fn send<W: AsyncWrite + Unpin>(writer: &mut Writer<W>, frame: &Frame) -> std::io::Result<()> {
    match frame {
        Frame::Text(text) => writer.text(text).await,
        Frame::Binary(_) | Frame::Parts(_) => writer.binary(&frame.to_bytes()).await,
    }
}
