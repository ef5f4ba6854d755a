//! The HTTP port: accepts connections up to the limits, from clients that make progress.
//!
//! Each wait for a client has a time limit: for a request's header in `hyper`, for the whole
//! request in the router, for a client that does not read its response in [`WriteTimeout`], and for
//! the whole connection here.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_http::add_extension::AddExtension;
use tracing::{debug, warn};

use super::closed::Closed;
use crate::clients::client::is_trusted;
use crate::clients::places::{Evicted, Place, Places};
use crate::clients::write_timeout::WriteTimeout;
use crate::metrics::Metrics;
use crate::os::clock;
use crate::settings::Current;

/// The longest header: a request line with all parameters of a joining client, and the other
/// headers.
const HEADER_LEN_MAX: usize = 128 << 10;

/// How many requests' time a connection may last. A client that is not done then, however slowly it
/// reads, gets one request's time to finish.
const LIFE: u32 = 30;

/// How much of what waits to be sent the kernel takes; the rest waits with us, where it is counted.
const UNSENT_MAX: u32 = 128 << 10;

/// How long to wait when no connection can be taken: one that ends will help, asking again at once
/// will not.
const RESPITE: Duration = Duration::from_millis(100);

/// Everything a connection needs.
#[derive(Clone)]
pub(crate) struct Front {
    /// The routes.
    pub router: Router,
    /// How many there may be.
    pub places: Places,
    /// Among them the trusted proxies.
    pub settings: Current,
    /// Counters of closed connections.
    pub metrics: Metrics,
    /// How long a client may take for a request.
    pub request_timeout: Duration,
}

/// A connection for requests.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The address of the other end.
    pub peer: IpAddr,
    /// The local address that it connected to.
    pub local: IpAddr,
    /// Its place, which a WebSocket keeps.
    pub place: Arc<Place>,
}

/// Opens a port to listen on.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // An IPv6 wildcard must not take the IPv4 port, which has a listener of its own.
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Configures a connection for low latency. The kernel keeps unsent data of a closed connection for
/// `patience`.
pub(crate) fn tune(stream: &TcpStream, patience: Duration) {
    let socket = SockRef::from(stream);
    // A connection works without these, too.
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_user_timeout(Some(patience));
    let _ = socket.set_tcp_notsent_lowat(UNSENT_MAX);
}

/// Serves `listeners` until the returned tasks are dropped. None of them ends by itself.
pub(crate) fn serve(listeners: Vec<TcpListener>, front: &Front) -> JoinSet<()> {
    let accept = |listener| accept(listener, front.clone());
    listeners.into_iter().map(accept).collect()
}

async fn accept(listener: TcpListener, front: Front) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => admit(stream, from.ip(), &front),
            Err(error) => {
                // Out of file descriptors, most likely.
                warn!(%error, "cannot accept a connection");
                front.places.evict_oldest(clock::now());
                tokio::time::sleep(RESPITE).await;
            }
        }
    }
}

fn admit(stream: TcpStream, peer: IpAddr, front: &Front) {
    let Ok(local) = stream.local_addr() else { return };
    // Clients of a proxy are only known from its requests, and are counted with those.
    let counted = Some(peer).filter(|peer| !is_trusted(*peer, &front.settings.get().trusted_proxies));
    match front.places.enter(counted, clock::now()) {
        Ok((place, evicted)) => {
            let connection = Connection {
                peer: peer.to_canonical(),
                local: local.ip().to_canonical(),
                place: Arc::new(place),
            };
            tokio::spawn(serve_one(stream, connection, evicted, front.clone()));
        }
        Err(full) => front.metrics.http_closed(full.into()),
    }
}

async fn serve_one(stream: TcpStream, connection: Connection, mut evicted: Evicted, front: Front) {
    let patience = front.request_timeout;
    tune(&stream, 2 * patience);
    let service = AddExtension::new(front.router, connection);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(HEADER_LEN_MAX)
        .serve_connection(
            TokioIo::new(WriteTimeout::new(stream, patience)),
            TowerToHyperService::new(service),
        )
        .with_upgrades();
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = &mut served => ended,
        Ok(full) = &mut evicted => return front.metrics.http_closed(full.into()),
        () = tokio::time::sleep(LIFE * patience) => {
            served.as_mut().graceful_shutdown();
            match tokio::time::timeout(patience, served).await {
                Ok(ended) => ended,
                Err(_) => return front.metrics.http_closed(Closed::Slow),
            }
        }
    };
    if let Err(error) = ended {
        debug!(%error, "an HTTP connection failed");
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        let timed_out = source.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
        if error.is_timeout() || timed_out {
            front.metrics.http_closed(Closed::Slow);
        }
    }
}
