//! One WebSocket of the signalling protocol.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use controller::ConnectionId;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use livekit::Frame;
use livekit::{Admission, Inbox};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::debug;

use crate::clients::outbox::{ToSocket, Told};
use crate::clients::places::Place;
use crate::controller_task::Handle;
use crate::os::clock;
use crate::websocket::{self, Message, Reader, Upgrade, Writer};

type Stream = TokioIo<Upgraded>;

/// The largest signalling message.
const MESSAGE_MAX: usize = 2 << 20;

/// How many answers to a client's pings may wait; further pings are not answered.
const REPLIES_MAX: usize = 4;

/// How often we ask whether the other end is there.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// Without any sign of life for this long the connection counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(35);

/// How long a message may take to be sent before the connection counts as lost.
const SEND_MAX: Duration = Duration::from_secs(10);

/// How long a client may take to answer a close before the connection is dropped.
const GOODBYE: Duration = Duration::from_millis(200);

/// A message that the reading half hands to the writing half.
enum Reply {
    Pong(Bytes),
    Close(u16),
}

/// Runs the connection until either end closes it. `_places` are its own until then.
pub(crate) async fn run(upgrade: Upgrade, admission: Box<Admission>, controller: Handle, _places: Vec<Arc<Place>>) {
    let Ok(Some(stream)) = timeout(SEND_MAX, upgrade.stream()).await else {
        return;
    };
    let Some((connection, told)) = controller.open(admission).await else {
        return;
    };
    let (reader, writer) = websocket::split(stream, MESSAGE_MAX);
    let (replies, to_reply) = mpsc::channel(REPLIES_MAX);
    let reading = async {
        read(reader, replies, connection, &controller).await;
        // The writing half ends the connection, because only it knows whether a frame is half
        // written.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = write(writer, told, to_reply) => {}
        () = reading => {}
    }
    controller.closed(connection).await;
}

/// Passes the client's messages to the controller, until the client ends.
async fn read(
    mut reader: Reader<ReadHalf<Stream>>,
    replies: mpsc::Sender<Reply>,
    connection: ConnectionId,
    controller: &Handle,
) {
    let mut inbox = Inbox::new(clock::now());
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
            Message::Binary(bytes) => controller.message(connection, &mut inbox, Frame::Binary(bytes)).await,
            Message::Text(text) => {
                let frame = Frame::Text(text.into());
                controller.message(connection, &mut inbox, frame).await;
            }
            // A client that pings faster than it reads the answers gets fewer of them.
            Message::Ping(payload) => drop(replies.try_send(Reply::Pong(payload))),
            Message::Pong => {}
            Message::Close(code) => return drop(replies.try_send(Reply::Close(code))),
        }
    }
}

/// Sends the client its messages, until it or the controller has closed.
async fn write(mut writer: Writer<WriteHalf<Stream>>, mut told: Told, mut replies: mpsc::Receiver<Reply>) {
    let mut ping = tokio::time::interval(PING_INTERVAL);
    ping.reset();
    loop {
        let sending = tokio::select! {
            what = told.next() => match what {
                Some(ToSocket::Frame(frame)) => timeout(SEND_MAX, send(&mut writer, &frame)).await,
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
    }
}

async fn close(mut writer: Writer<WriteHalf<Stream>>, code: u16, reason: &str) {
    // The connection is closed even if the client does not receive this.
    let _ = timeout(SEND_MAX, writer.close(code, reason)).await;
    tokio::time::sleep(GOODBYE).await;
}
