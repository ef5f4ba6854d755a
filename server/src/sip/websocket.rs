//! `ng` over WebSockets: each message a request, answered before the next is read.
//!
//! Source: rtpengine's documents, `http_websocket_support.md`. As there, answers are binary
//! whatever was asked, and the path does not matter.

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use sip::limits::MESSAGE_MAX;
use sip::ng::{Route, subprotocol};
use tokio::io::{ReadHalf, WriteHalf};
use tokio::time::{Instant, interval, timeout};
use tracing::debug;

use super::client::{Client, refuse};
use super::requests::Protocol;
use crate::websocket::{self, Message, Reader, Upgrade, Writer};

/// The interval of pings to a silent client, and how long it may be silent.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const SILENCE_MAX: Duration = Duration::from_secs(90);

/// How long a client may take to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

type Stream = TokioIo<Upgraded>;

/// The response to a request for a WebSocket, which is served from then on.
pub(super) fn accept(request: Request<Incoming>, client: Client) -> Response<Body> {
    let (mut parts, _) = request.into_parts();
    let listed = websocket::listed(&parts.headers, header::SEC_WEBSOCKET_PROTOCOL);
    let Some((name, route)) = subprotocol(listed) else {
        return refuse(400);
    };
    let Some((upgrade, mut answer)) = websocket::upgrade(&mut parts) else {
        return refuse(400);
    };
    if !client.slot.join() {
        return refuse(503);
    }
    answer
        .headers_mut()
        .insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(name));
    let protocol = match route {
        Route::NgPlain => Protocol::NgPlain,
        _ => Protocol::Ng,
    };
    tokio::spawn(async move {
        let from = client.from;
        if let Err(error) = serve(upgrade, protocol, client).await {
            debug!(%from, %error, "a control connection ended");
        }
    });
    answer
}

async fn serve(upgrade: Upgrade, protocol: Protocol, client: Client) -> io::Result<()> {
    let Some(stream) = timeout(PATIENCE, upgrade.stream()).await? else {
        return Ok(());
    };
    let (mut reader, mut writer) = websocket::split(stream, MESSAGE_MAX, &websocket::Memory::default());
    loop {
        let message: Vec<u8> = match next(&mut reader, &mut writer).await? {
            None => return Ok(()),
            Some(Ok(Message::Binary(bytes))) => bytes.into(),
            Some(Ok(Message::Text(text))) => text.into_bytes(),
            Some(Ok(Message::Ping(payload))) => {
                timeout(PATIENCE, writer.pong(&payload)).await??;
                continue;
            }
            Some(Ok(Message::Pong)) => continue,
            Some(Ok(Message::Close(code))) => return timeout(PATIENCE, writer.close(code, "")).await?,
            Some(Err(error)) => {
                let code = error.code().ok_or(io::ErrorKind::ConnectionAborted)?;
                return timeout(PATIENCE, writer.close(code, "")).await?;
            }
        };
        if let Some(reply) = client.handle.answer(protocol, Some(client.from), message).await {
            timeout(PATIENCE, writer.binary(&reply)).await??;
        }
    }
}

/// The client's next message. Pings are sent while waiting for it.
async fn next(
    reader: &mut Reader<ReadHalf<Stream>>,
    writer: &mut Writer<WriteHalf<Stream>>,
) -> io::Result<Option<Result<Message, websocket::ReadError>>> {
    let mut ping = interval(PING_INTERVAL);
    ping.reset();
    let until = Instant::now() + SILENCE_MAX;
    // Not to be dropped before it is done: half a message would be gone.
    let mut reading = pin!(reader.next());
    loop {
        tokio::select! {
            message = &mut reading => return Ok(message),
            now = ping.tick() => {
                if now >= until {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                timeout(PATIENCE, writer.ping()).await??;
            }
        }
    }
}
