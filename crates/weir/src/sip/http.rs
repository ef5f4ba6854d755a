//! `ng` over HTTP, for proxies and for people with `curl`; and over WebSockets, where a client asks for one.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use sip::ng::{CONTENT_TYPE, Route, route};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{debug, warn};

use super::access::Access;
use super::task::{Handle, Protocol};
use super::websocket;
use crate::page;

/// How many connections there may be on one listener. The next one waits until one ends.
const CONNECTIONS_MAX: usize = 1_024;

/// How long a client may take to send a request's header.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);

/// How long it may take to send the body.
const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// Serves those who may control calls.
pub async fn serve(listener: TcpListener, handle: Handle, access: Arc<Access>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let (stream, from) = match listener.accept().await {
            Ok((stream, from)) if access.admits(from.ip()) => (stream, from.ip().to_canonical()),
            Ok(_) => continue,
            Err(error) => {
                warn!(%error, "cannot accept a control connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let handle = handle.clone();
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            // A WebSocket keeps it.
            let place = Arc::new(place);
            let answer = |request| {
                let client = Client {
                    from,
                    handle: handle.clone(),
                    _place: place.clone(),
                };
                async move { Ok::<_, Infallible>(respond(request, client).await) }
            };
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIME_MAX)
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .with_upgrades();
            if let Err(error) = served.await {
                debug!(%from, %error, "a control connection failed");
            }
        });
    }
}

/// Who is at the other end of a connection.
pub(super) struct Client {
    pub(super) from: IpAddr,
    pub(super) handle: Handle,
    _place: Arc<OwnedSemaphorePermit>,
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
    let Ok(Ok(body)) = tokio::time::timeout(BODY_TIME_MAX, body).await else {
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

pub(super) fn refuse(status: u16) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    page::text(status, status.canonical_reason().unwrap_or_default())
}
