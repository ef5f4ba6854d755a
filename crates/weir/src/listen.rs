//! The HTTP port: accepting connections, as many as there may be, from clients that get on with it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{debug, warn};

/// How many connections there may be at once, signalling included. The next one waits until one ends.
const CONNECTIONS_MAX: usize = 16_384;

/// How long a client may take to send a request's header.
const HEADER_TIME_MAX: Duration = Duration::from_secs(10);

/// A request line with everything a joining client says in it, and the other headers.
const HEADER_LEN_MAX: usize = 128 << 10;

/// Opens a port to listen on.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
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

/// Serves `router` on all `listeners` until the returned tasks are aborted.
pub fn serve(listeners: Vec<TcpListener>, router: &Router) -> Vec<tokio::task::JoinHandle<()>> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let accept = |listener| tokio::spawn(accept(listener, router.clone(), places.clone()));
    listeners.into_iter().map(accept).collect()
}

async fn accept(listener: TcpListener, router: Router, places: Arc<Semaphore>) {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, router.clone(), place));
            }
            Err(error) => {
                // Out of file descriptors, most likely: one that ends will help, asking again at once will not.
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router, place: OwnedSemaphorePermit) {
    // Signalling is many small messages that somebody waits for.
    let _ = stream.set_nodelay(true);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME_MAX)
        .max_buf_size(HEADER_LEN_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    if let Err(error) = served.await {
        debug!(%error, "an HTTP connection failed");
    }
    drop(place);
}
