//! `ng` over HTTP, for proxies and for people with `curl`; and over WebSockets, where a client asks
//! for one.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use sip::ng::{CONTENT_TYPE, Route, route};
use tokio::net::{TcpListener, TcpStream};
use tracing::debug;

use super::access::Access;
use super::client::{Client, refuse};
use super::requests::{Handle, Protocol};
use super::websocket;
use crate::clients::accept::next_connection;
use crate::clients::connection_slots::Evicted;
use crate::clients::write_timeout::WriteTimeout;
use crate::http::framing;
use crate::http::page;
use crate::metrics::closed::Closed;
use crate::os::tcp::tune;

/// How long a client may take to send a request's header, as long again to send the body, and to
/// take any part of an answer.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(10);

/// Serves clients that may control calls.
pub(crate) async fn serve(listener: TcpListener, handle: Handle, access: Arc<Access>) {
    loop {
        let (stream, from) = next_connection(|| listener.accept(), || access.evict_oldest()).await;
        if let Some((slot, evicted)) = access.enter(from.ip()) {
            let client = Client {
                from: from.ip().to_canonical(),
                handle: handle.clone(),
                slot: Arc::new(slot),
            };
            tokio::spawn(serve_one(stream, client, evicted, access.clone()));
        }
    }
}

async fn serve_one(stream: TcpStream, client: Client, mut evicted: Evicted, access: Arc<Access>) {
    tune(&stream, REQUEST_TIME_MAX);
    let from = client.from;
    let answer = |request| {
        let client = client.clone();
        async move {
            let is_last = framing::is_last(&request);
            let mut response = match framing::check(&request) {
                Ok(()) => respond(request, client).await,
                Err(refusal) => refusal,
            };
            framing::end(&mut response, is_last);
            Ok::<_, Infallible>(response)
        }
    };
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME_MAX)
        .serve_connection(
            TokioIo::new(WriteTimeout::new(stream, REQUEST_TIME_MAX)),
            service_fn(answer),
        )
        .with_upgrades();
    tokio::select! {
        ended = served => if let Err(error) = ended {
            debug!(%from, %error, "a control connection failed");
            if error.is_timeout() {
                access.closed(Closed::Slow);
            }
        },
        Ok(full) = &mut evicted => access.closed(full.into()),
    }
}

async fn respond(request: Request<Incoming>, client: Client) -> Response<Body> {
    if request.headers().contains_key(header::UPGRADE) {
        return websocket::accept(request, client);
    }
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let protocol = match route(request.method().as_str(), request.uri().path(), content_type) {
        Route::Ping => return page::text(StatusCode::OK, "pong\n"),
        Route::Refused(status) => return refuse(status),
        Route::Ng => Protocol::Ng,
        Route::NgPlain => Protocol::NgPlain,
    };
    let content_type = content_type.to_owned();
    let body = axum::body::to_bytes(Body::new(request.into_body()), sip::limits::MESSAGE_MAX);
    let Ok(Ok(body)) = tokio::time::timeout(REQUEST_TIME_MAX, body).await else {
        return refuse(413);
    };
    let reply = client.handle.answer(protocol, Some(client.from), body.to_vec());
    let Some(reply) = reply.await else {
        return refuse(400);
    };
    let kind = match protocol {
        Protocol::NgPlain => HeaderValue::from_str(&content_type).ok(),
        _ => None,
    };
    let mut response = Response::new(Body::from(reply.to_vec()));
    let kind = kind.unwrap_or(HeaderValue::from_static(CONTENT_TYPE));
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
