//! The handshakes of controllers.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;
use tracing::{debug, warn};

use super::super::{HELLO_MAX, KEEP_ALIVE_EVERY, KEEP_ALIVE_MAX};
use crate::cli::Role;
use crate::clients::accept::next_connection;
use crate::cluster::tls::{ClusterTls, has_role};
use crate::http::listen::tune;
use crate::media::fenced::CONTROLLERS_MAX;
use crate::metrics::Metrics;
use crate::metrics::cut::Cut;

/// Handshakes at once. Strangers share them, and leave the places of controllers alone.
const HANDSHAKES_MAX: usize = 64;

/// Ends a connection, whatever waits to be sent over it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Closer(Arc<Mutex<Option<oneshot::Sender<()>>>>);

impl Closer {
    pub(super) fn close(&self) {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            // An error means that the connection has ended.
            let _ = sender.send(());
        }
    }
}

/// A connection of a controller.
pub(super) struct Stream {
    stream: TlsStream<TcpStream>,
    closer: Closer,
    closed: oneshot::Receiver<()>,
    /// Its place among all.
    _place: OwnedSemaphorePermit,
}

/// Takes connections, and hands over those of controllers.
pub(super) async fn accept_all(
    listener: TcpListener,
    tls: ClusterTls,
    accepted: mpsc::Sender<Stream>,
    metrics: Metrics,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    let places = Arc::new(Semaphore::new(CONTROLLERS_MAX));
    // Aborted when it is dropped.
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let (stream, from) = next_connection(|| listener.accept(), || ()).await;
        let Ok(handshake) = handshakes.clone().try_acquire_owned() else {
            metrics.southbound_cut(Cut::Full);
            continue;
        };
        let (tls, places, accepted, metrics) = (tls.clone(), places.clone(), accepted.clone(), metrics.clone());
        tasks.spawn(async move {
            let shaken = timeout(HELLO_MAX, shake_hands(stream, from, &tls)).await;
            drop(handshake);
            let outcome = shaken.unwrap_or(Err(Cut::Silent)).and_then(|stream| {
                let _place = places.try_acquire_owned().map_err(|_| Cut::Full)?;
                let (closer, closed) = oneshot::channel();
                Ok(Stream {
                    stream,
                    closer: Closer(Arc::new(Mutex::new(Some(closer)))),
                    closed,
                    _place,
                })
            });
            match outcome {
                // An error means that the node ends.
                Ok(stream) => drop(accepted.send(stream).await),
                Err(why) => {
                    debug!(%from, ?why, "a connection is refused");
                    metrics.southbound_cut(why);
                }
            }
        });
    }
}

async fn shake_hands(stream: TcpStream, from: SocketAddr, tls: &ClusterTls) -> Result<TlsStream<TcpStream>, Cut> {
    tune(&stream, KEEP_ALIVE_EVERY + KEEP_ALIVE_MAX);
    let stream = tls.acceptor().accept(stream).await.map_err(|error| {
        warn!(%from, %error, "a peer that is no controller of this cluster is refused");
        Cut::Handshake
    })?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let is_controller = |leaf| has_role(leaf, Role::Controller);
    if !certificates.first().is_some_and(is_controller) {
        warn!(%from, "a peer whose certificate is not for controllers is refused");
        return Err(Cut::Role);
    }
    Ok(stream)
}

impl Connected for Stream {
    type ConnectInfo = Closer;

    fn connect_info(&self) -> Closer {
        self.closer.clone()
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Reading is always waited for, so that this wakes the connection.
        if Pin::new(&mut self.closed).poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
