//! Requests that other controllers pass on. Each is served as if its client had connected here.
//!
//! A request counts for its client's address, as a connection does at the public ports. Controllers
//! are believed about their clients, so the mark of such a request is no header.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower_http::add_extension::AddExtension;
use tracing::debug;

use super::listen::{Connection, Front, HEADER_LEN_MAX};
use super::page::unavailable;
use super::{framing, page};
use crate::clients::client::is_trusted;
use crate::cluster::forward::{self, Accepted, ClientLink};
use crate::cluster::tls::ClusterTls;
use crate::metrics::forwarded::{ForwardCounts, ForwardFailure};
use crate::os::clock;

/// How much longer a head is than the client's: another controller adds a header.
const ADDED_MAX: usize = 1 << 10;

/// How long a connection without a request is kept at least. The other controller closes it before.
const IDLE_MIN: Duration = Duration::from_secs(20);

/// Marks a request of another controller, which is answered here or not at all.
#[derive(Clone, Debug)]
pub(super) struct Forwarded {
    /// The region of its client, if that controller knows it.
    pub region: Option<Arc<str>>,
}

/// Serves other controllers. Does not end by itself.
pub(crate) async fn serve(listener: TcpListener, tls: ClusterTls, counts: ForwardCounts, front: Front) {
    let (of_requests, write_max) = (counts.clone(), front.request_timeout);
    let connection = move |accepted| connection(accepted, front.clone(), of_requests.clone());
    forward::serve(listener, tls, counts, write_max, connection).await;
}

async fn connection(Accepted { stream, place }: Accepted, front: Front, counts: ForwardCounts) {
    let time_limit = front.request_timeout.max(IDLE_MIN);
    let service = service_fn(move |request| answer(front.clone(), counts.clone(), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(time_limit)
        .max_buf_size(HEADER_LEN_MAX as usize + ADDED_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    if let Err(error) = served.await {
        debug!(%error, "a connection of another controller failed");
    }
    drop(place);
}

async fn answer(
    front: Front,
    counts: ForwardCounts,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let Some(link) = ClientLink::take(request.headers_mut()) else {
        counts.failed(ForwardFailure::Malformed);
        let text = "a controller says whose request it passes on\n";
        return Ok(page::text(StatusCode::BAD_REQUEST, text));
    };
    let region = forward::take_region(request.headers_mut()).map(Arc::from);
    if let Err(refusal) = framing::check(&request) {
        return Ok(refusal);
    }
    let counted = Some(link.peer).filter(|peer| !is_trusted(*peer, &front.settings.get().trusted_proxies));
    let (slot, evicted) = match front.slots.enter(counted, clock::now()) {
        Ok(entered) => entered,
        Err(full) => {
            front.metrics.http_closed(full.into());
            return Ok(unavailable("too many connections\n".to_owned()));
        }
    };
    let connection = Connection {
        peer: link.peer,
        local: link.local,
        is_tls: link.is_tls,
        slot: Arc::new(slot),
    };
    let service = AddExtension::new(AddExtension::new(front.router, connection), Forwarded { region });
    tokio::select! {
        answered = TowerToHyperService::new(service).call(request) => answered,
        Ok(full) = evicted => {
            front.metrics.http_closed(full.into());
            Ok(unavailable("too many connections\n".to_owned()))
        }
    }
}
