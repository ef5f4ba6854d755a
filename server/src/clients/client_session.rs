//! One WebSocket of the signalling protocol, or of a worker of agents.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use access::Claims;
use bytes::Bytes;
use controller::ConnectionId;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use livekit::{Admission, Frame, Inbox, agents};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::clients::connection_slots::ConnectionSlot;
use crate::frontends;
use crate::frontends::outbox::{Ending, Ends, SocketQueue, ToSocket};
use crate::os::clock;
use crate::websocket::{self, Memory, Message, Reader, Upgrade, Writer};

type Stream = TokioIo<Upgraded>;

/// The largest signalling message.
const MESSAGE_MAX: usize = 2 << 20;

/// How many answers to a client's pings may wait; further pings are not answered.
const REPLIES_MAX: usize = 4;

/// How often we ask whether the other end is there.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// Without any sign of life for this long the connection counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(35);

/// How long a message may take to be sent before the connection counts as lost, and more for a long
/// one. After a close all that waits may take so long.
const SEND_MAX: Duration = Duration::from_secs(10);

/// The rate at which a client has to read a long message. Shape: bytes per second.
const READ_RATE_MIN: u32 = 64 << 10;

/// How long a client for which too much waits may take for the message that it is being sent, to
/// learn why it is closed.
const SLOW_GOODBYE: Duration = Duration::from_secs(1);

/// How long a client may take to answer a close before the connection is dropped.
const GOODBYE: Duration = Duration::from_millis(200);

/// A message that the reading half hands to the writing half.
enum Reply {
    Pong(Bytes),
    Close(u16),
}

/// Runs the connection until either end closes it. `_slots` are its own until then.
pub(crate) async fn run(
    (upgrade, memory): (Upgrade, Memory),
    admission: Box<Admission>,
    livekit: frontends::livekit::Handle,
    _slots: Vec<Arc<ConnectionSlot>>,
) {
    let Ok(Some(stream)) = timeout(SEND_MAX, upgrade.stream()).await else {
        return;
    };
    let Some((connection, told, ends)) = livekit.open(admission).await else {
        return;
    };
    let inbox = PeerInbox::Client(Inbox::new(clock::now()), livekit.clone());
    converse(stream, &memory, inbox, (told, ends), connection).await;
    livekit.closed(connection).await;
}

/// Begins to pass the messages of a worker's connection on to other controllers.
pub(crate) type Relay = Box<dyn FnOnce(ConnectionId) -> mpsc::Sender<Frame> + Send>;

/// The same for the connection of a worker, with the claims of its token. Its messages also go to
/// the `relay`, if there is one.
pub(crate) async fn run_worker(
    (upgrade, memory): (Upgrade, Memory),
    (claims, address): (Box<Claims>, IpAddr),
    agents: frontends::agents::Handle,
    relay: Option<Relay>,
    _slots: Vec<Arc<ConnectionSlot>>,
) {
    let Ok(Some(stream)) = timeout(SEND_MAX, upgrade.stream()).await else {
        return;
    };
    let Some((connection, told, ends)) = agents.open(claims, address).await else {
        return;
    };
    let inbox = PeerInbox::Worker(
        agents::Inbox::new(clock::now()),
        agents.clone(),
        relay.map(|relay| relay(connection)),
    );
    converse(stream, &memory, inbox, (told, ends), connection).await;
    agents.closed(connection).await;
}

/// The reader of a connection's messages, and the front end that takes them.
enum PeerInbox {
    Client(Inbox, frontends::livekit::Handle),
    Worker(agents::Inbox, frontends::agents::Handle, Option<mpsc::Sender<Frame>>),
}

impl PeerInbox {
    fn message_max(&self) -> usize {
        match self {
            PeerInbox::Client(..) => MESSAGE_MAX,
            PeerInbox::Worker(..) => agents::MESSAGE_MAX,
        }
    }

    async fn pass(&mut self, connection: ConnectionId, frame: Frame) {
        match self {
            PeerInbox::Client(inbox, livekit) => livekit.message(connection, inbox, frame).await,
            PeerInbox::Worker(inbox, agents, relay) => {
                let copy = relay.as_ref().map(|relay| (relay, frame.clone()));
                agents.message(connection, inbox, frame).await;
                if let Some((relay, frame)) = copy {
                    // An error means that the other controllers hear nothing of it any more.
                    let _ = relay.send(frame).await;
                }
            }
        }
    }
}

/// Exchanges messages until either end closes the connection.
async fn converse(
    stream: Stream,
    memory: &Memory,
    inbox: PeerInbox,
    (told, ends): (SocketQueue, Ends),
    connection: ConnectionId,
) {
    let (reader, writer) = websocket::split(stream, inbox.message_max(), memory);
    let (replies, to_reply) = mpsc::channel(REPLIES_MAX);
    let reading = async {
        read(reader, inbox, replies, connection).await;
        // The writing half ends the connection, because only it knows whether a frame is half
        // written.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = write(writer, told, to_reply) => {}
        () = overdue(ends) => {}
        () = reading => {}
    }
}

/// Passes the client's messages to the front end, until the client ends.
async fn read(
    mut reader: Reader<ReadHalf<Stream>>,
    mut inbox: PeerInbox,
    replies: mpsc::Sender<Reply>,
    connection: ConnectionId,
) {
    loop {
        let message = match timeout(SILENCE_MAX, reader.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(error))) => {
                debug!(%connection, %error, "the socket failed");
                let code = error.code();
                return drop(code.map(|code| replies.try_send(Reply::Close(code))));
            }
            Ok(None) => return,
            Err(_) => return debug!(%connection, "the client fell silent"),
        };
        match message {
            Message::Binary(bytes) => inbox.pass(connection, Frame::Binary(bytes)).await,
            Message::Text(text) => inbox.pass(connection, Frame::Text(text.into())).await,
            // A client that pings faster than it reads the answers gets fewer of them.
            Message::Ping(payload) => drop(replies.try_send(Reply::Pong(payload))),
            Message::Pong => {}
            Message::Close(code) => return drop(replies.try_send(Reply::Close(code))),
        }
    }
}

/// Sends the client its messages, until it or the controller has closed.
async fn write(mut writer: Writer<WriteHalf<Stream>>, mut told: SocketQueue, mut replies: mpsc::Receiver<Reply>) {
    let mut ping = tokio::time::interval(PING_INTERVAL);
    ping.reset();
    loop {
        let sending = tokio::select! {
            what = told.next(clock::now) => match what {
                Some(ToSocket::Frame(frame)) => timeout(time_limit(frame.len()), send(&mut writer, &frame)).await,
                Some(ToSocket::Close(code, reason)) => return close(writer, code, reason).await,
                None => return close(writer, 1013, "too slow").await,
            },
            reply = replies.recv() => match reply {
                Some(Reply::Pong(payload)) => timeout(SEND_MAX, writer.pong(&payload)).await,
                Some(Reply::Close(code)) => return drop(timeout(SEND_MAX, writer.close(code, "")).await),
                None => return,
            },
            _ = ping.tick() => timeout(SEND_MAX, writer.ping()).await,
        };
        if !matches!(sending, Ok(Ok(()))) {
            return;
        }
    }
}

async fn send(writer: &mut Writer<WriteHalf<Stream>>, frame: &Frame) -> io::Result<()> {
    match frame {
        Frame::Binary(bytes) => writer.binary(bytes).await,
        Frame::Text(text) => writer.text(text).await,
        Frame::Parts(_) => writer.pieces(frame.len(), frame.pieces()).await,
    }
}

/// How long a message of this length may take to be sent.
fn time_limit(len: usize) -> Duration {
    SEND_MAX + Duration::from_secs(len as u64 / u64::from(READ_RATE_MIN))
}

/// Resolves when a connection that is ending has had its time: its messages are in memory until
/// then.
async fn overdue(ends: Ends) {
    match ends.await {
        Ok(Ending::Closed) => sleep(SEND_MAX).await,
        Ok(Ending::Slow) => sleep(SLOW_GOODBYE).await,
        Err(_) => {}
    }
}

async fn close(mut writer: Writer<WriteHalf<Stream>>, code: u16, reason: &str) {
    // The connection is closed even if the client does not receive this.
    let _ = timeout(SEND_MAX, writer.close(code, reason)).await;
    sleep(GOODBYE).await;
}
