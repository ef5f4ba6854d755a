//! One WebSocket of the signalling protocol.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use controller::livekit::Admission;
use controller::{ConnectionId, Frame};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tracing::debug;

use crate::signal::{Handle, ToSocket};

/// How often we ask whether the other end is there.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// Without any sign of life for this long the connection counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(35);

/// How long a message may take to be sent before the connection counts as lost.
const SEND_MAX: Duration = Duration::from_secs(10);

/// Runs the connection until either end closes it.
pub async fn run(socket: WebSocket, admission: Box<Admission>, controller: Handle) {
    let Some((connection, told)) = controller.open(admission).await else {
        return;
    };
    let (sink, stream) = socket.split();
    tokio::select! {
        () = write(sink, told) => {}
        () = read(stream, connection, &controller) => {}
    }
    controller.closed(connection).await;
}

async fn read(mut stream: SplitStream<WebSocket>, connection: ConnectionId, controller: &Handle) {
    loop {
        let message = match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(error))) => return debug!(%connection, %error, "the socket failed"),
            Ok(None) => return,
            Err(_) => return debug!(%connection, "the client fell silent"),
        };
        match message {
            Message::Binary(bytes) => controller.message(connection, Frame::Binary(bytes)).await,
            Message::Text(text) => controller.message(connection, Frame::Text(text.to_string())).await,
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return,
        }
    }
}

async fn write(mut sink: SplitSink<WebSocket, Message>, mut told: mpsc::Receiver<ToSocket>) {
    let mut ping = tokio::time::interval(PING_INTERVAL);
    ping.reset();
    loop {
        let message = tokio::select! {
            what = told.recv() => match what {
                Some(ToSocket::Frame(Frame::Binary(bytes))) => Message::Binary(bytes),
                Some(ToSocket::Frame(Frame::Text(text))) => Message::Text(text.into()),
                Some(ToSocket::Close(code, reason)) => return close(sink, code, reason).await,
                None => return close(sink, 1013, "too slow").await,
            },
            _ = ping.tick() => Message::Ping(Default::default()),
        };
        if !matches!(tokio::time::timeout(SEND_MAX, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

async fn close(mut sink: SplitSink<WebSocket, Message>, code: u16, reason: &'static str) {
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    let _ = tokio::time::timeout(SEND_MAX, sink.send(Message::Close(Some(frame)))).await;
    // The client answers with its own close frame; give it a moment before the connection goes.
    tokio::time::sleep(Duration::from_millis(200)).await;
}
