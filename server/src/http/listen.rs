//! The ports of HTTP and HTTPS: accept connections up to the limits, from clients that make
//! progress.
//!
//! Each wait for a client has a time limit: for the handshake of TLS, for the first request of
//! HTTP/2 and for the whole connection here, for a request's header in `hyper`, for the whole
//! request in the router, and for a client that does not read its response in [`WriteTimeout`].

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_http::add_extension::AddExtension;
use tracing::debug;

use super::frame_limit::FrameLimit;
use super::framing;
use crate::clients::accept::next_connection;
use crate::clients::client::is_trusted;
use crate::clients::connection_slots::{ConnectionSlot, ConnectionSlots, Evicted};
use crate::clients::peeked::{HandOver, Peeked};
use crate::clients::write_timeout::WriteTimeout;
use crate::metrics::Metrics;
use crate::metrics::closed::Closed;
use crate::os::clock;
use crate::os::tcp::tune;
use crate::settings::Current;
use crate::tls::Certificates;
use crate::tls::accept::{self, Accepted};
use crate::tls::counters::HandshakeResult;

/// The longest header: a request line with all parameters of a joining client, and the other
/// headers.
pub(super) const HEADER_LEN_MAX: u32 = 128 << 10;

/// The first byte of a client of TURN, which begins with a STUN message.
const TURN: RangeInclusive<u8> = 0..=3;

/// How many requests at once a connection of HTTP/2 may have.
const STREAMS_MAX: u32 = 32;

/// The bytes of bodies that a client of HTTP/2 may send before they are read: those of one request,
/// and those of all requests of a connection.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 128 << 10;

/// How many requests' time a connection may last. A client that is not done then, however slowly it
/// reads, gets one request's time to finish.
const LIFE: u32 = 30;

/// A port that is served.
pub(crate) struct Port {
    /// Its socket.
    pub listener: TcpListener,
    /// The certificates, if it is one of HTTPS.
    pub tls: Option<Certificates>,
}

/// Everything a connection needs.
#[derive(Clone)]
pub(crate) struct Front {
    /// The routes.
    pub router: Router,
    /// How many there may be.
    pub slots: ConnectionSlots,
    /// Among them the trusted proxies.
    pub settings: Current,
    /// Counters of closed connections.
    pub metrics: Metrics,
    /// How long a client may take for a request.
    pub request_timeout: Duration,
    /// Takes the clients of TURN among those of HTTPS, if there are to be any.
    pub turn: Option<HandOver>,
}

/// A connection for requests.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The address of the other end.
    pub peer: IpAddr,
    /// The local address that it connected to.
    pub local: IpAddr,
    /// Whether it is one of TLS.
    pub is_tls: bool,
    /// Its place, which a WebSocket keeps.
    pub slot: Arc<ConnectionSlot>,
}

/// Serves these ports until the returned tasks are dropped. None of them ends by itself.
pub(crate) fn serve(ports: Vec<Port>, front: &Front) -> JoinSet<()> {
    let accept = |port| accept_all(port, front.clone());
    ports.into_iter().map(accept).collect()
}

async fn accept_all(port: Port, front: Front) {
    let evict = || front.slots.evict_oldest(clock::now());
    loop {
        let (stream, from) = next_connection(|| port.listener.accept(), evict).await;
        admit(stream, from, port.tls.as_ref(), &front);
    }
}

fn admit(stream: TcpStream, from: SocketAddr, tls: Option<&Certificates>, front: &Front) {
    let Ok(local) = stream.local_addr() else { return };
    let peer = from.ip();
    // Clients of a proxy are only known from its requests, and are counted with those.
    let counted = Some(peer).filter(|peer| !is_trusted(*peer, &front.settings.get().trusted_proxies));
    match front.slots.enter(counted, clock::now()) {
        Ok((slot, evicted)) => {
            let connection = Connection {
                peer: peer.to_canonical(),
                local: local.ip().to_canonical(),
                is_tls: tls.is_some(),
                slot: Arc::new(slot),
            };
            let service = TowerToHyperService::new(AddExtension::new(front.router.clone(), connection));
            let running = Running {
                evicted,
                metrics: front.metrics.clone(),
                time_limit: front.request_timeout,
                turn: front.turn.clone().map(|turn| (turn, from)),
            };
            tune(&stream, 2 * running.time_limit);
            let stream = WriteTimeout::new(stream, running.time_limit);
            match tls.cloned() {
                Some(certificates) => tokio::spawn(running.shake_hands(stream, service, certificates)),
                None => tokio::spawn(running.serve_http1(stream, service)),
            };
        }
        Err(full) => front.metrics.http_closed(full.into()),
    }
}

/// The routes, for the requests of one connection.
type Service = TowerToHyperService<AddExtension<Router, Connection>>;

/// The answer to a request, if its head is in order.
fn answer(
    service: &Service,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + use<> {
    let is_last = framing::is_last(&request);
    let answered = framing::check(&request).map(|()| service.call(request));
    async move {
        let mut response = match answered {
            Ok(answered) => answered.await?,
            Err(refusal) => return Ok(refusal),
        };
        framing::end(&mut response, is_last);
        Ok(response)
    }
}

/// A connection that is served.
struct Running {
    evicted: Evicted,
    metrics: Metrics,
    time_limit: Duration,
    /// Takes it, if it turns out to be a client of TURN over TLS.
    turn: Option<(HandOver, SocketAddr)>,
}

impl Running {
    async fn shake_hands(mut self, stream: WriteTimeout, service: Service, certificates: Certificates) {
        let has_turn = self.turn.is_some();
        let accepted = tokio::select! {
            accepted = timeout(self.time_limit, accept::accept(stream, &certificates, has_turn)) => accepted,
            Ok(full) = &mut self.evicted => return self.metrics.http_closed(full.into()),
        };
        match accepted {
            Ok(Ok(accepted)) => {
                certificates.count(HandshakeResult::Completed);
                match accepted {
                    Accepted::Http1(stream) => self.serve_first(stream, service).await,
                    Accepted::Http2(stream) => self.serve_http2(stream, service).await,
                    Accepted::Turn(stream) => {
                        if let Some((turn, from)) = self.turn {
                            turn(Box::new(stream), from);
                        }
                    }
                }
            }
            Ok(Err(ended)) => certificates.count(ended),
            Err(_) => {
                certificates.count(HandshakeResult::Slow);
                self.metrics.http_closed(Closed::Slow);
            }
        }
    }

    /// Serves a connection, which is one of TURN if its first byte says so. HTTP begins with a
    /// letter.
    async fn serve_first<S>(mut self, stream: S, service: Service)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some((turn, from)) = self.turn.take() else {
            return self.serve_http1(stream, service).await;
        };
        let peeked = tokio::select! {
            peeked = timeout(self.time_limit, Peeked::read(stream)) => peeked,
            Ok(full) = &mut self.evicted => return self.metrics.http_closed(full.into()),
        };
        match peeked {
            Ok(Ok(stream)) if TURN.contains(&stream.first()) => turn(Box::new(stream), from),
            Ok(Ok(stream)) => self.serve_http1(stream, service).await,
            Ok(Err(error)) => debug!(%error, "a connection over TLS ended without a request"),
            Err(_) => self.metrics.http_closed(Closed::Slow),
        }
    }

    async fn serve_http1<S>(self, stream: S, service: Service)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service_fn(move |request| answer(&service, request));
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.time_limit)
            .max_buf_size(HEADER_LEN_MAX as usize)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        self.run(served, |served| served.graceful_shutdown()).await;
    }

    /// The first request has a time limit here, which `hyper` has for HTTP/1.1 only.
    ///
    /// A WebSocket is not offered (RFC 8441): it would end with its connection, which lasts no
    /// longer than requests may.
    async fn serve_http2<S>(self, stream: S, service: Service)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let has_begun = Arc::new(AtomicBool::new(false));
        let (begun, time_limit, metrics) = (has_begun.clone(), self.time_limit, self.metrics.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            begun.store(true, Ordering::Relaxed);
            answer(&service, request)
        });
        let silent = async {
            tokio::time::sleep(time_limit).await;
            if has_begun.load(Ordering::Relaxed) {
                std::future::pending().await
            }
        };
        let served = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADER_LEN_MAX)
            .keep_alive_interval(self.time_limit)
            .keep_alive_timeout(self.time_limit)
            .serve_connection(TokioIo::new(FrameLimit::new(stream)), service);
        tokio::select! {
            () = self.run(served, |served| served.graceful_shutdown()) => {}
            () = silent => metrics.http_closed(Closed::Slow),
        }
    }

    /// Runs a connection until it ends, is evicted, or has lasted too long. `finish` lets it end
    /// with the requests there are.
    async fn run<C>(self, served: C, finish: impl FnOnce(Pin<&mut C>))
    where
        C: Future<Output = hyper::Result<()>>,
    {
        let Running {
            mut evicted,
            metrics,
            time_limit,
            turn: _,
        } = self;
        let mut served = pin!(served);
        let ended = tokio::select! {
            ended = &mut served => ended,
            Ok(full) = &mut evicted => return metrics.http_closed(full.into()),
            () = tokio::time::sleep(LIFE * time_limit) => {
                finish(served.as_mut());
                match timeout(time_limit, served).await {
                    Ok(ended) => ended,
                    Err(_) => return metrics.http_closed(Closed::Slow),
                }
            }
        };
        if let Err(error) = ended {
            debug!(%error, "an HTTP connection failed");
            let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
            match source.map(io::Error::kind) {
                Some(io::ErrorKind::QuotaExceeded) => metrics.http_closed(Closed::Flood),
                Some(io::ErrorKind::TimedOut) => metrics.http_closed(Closed::Slow),
                _ if error.is_timeout() => metrics.http_closed(Closed::Slow),
                _ => {}
            }
        }
    }
}
