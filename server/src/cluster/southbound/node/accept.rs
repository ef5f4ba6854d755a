//! The handshakes of controllers and of other media nodes.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use agent::limits::LINK_PEERS_MAX;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;
use tracing::{debug, warn};

use super::super::{HELLO_MAX, KEEP_ALIVE_EVERY, KEEP_ALIVE_MAX};
use crate::cli::Role;
use crate::clients::accept::next_connection;
use crate::cluster::peer::Peer;
use crate::cluster::tls::ClusterTls;
use crate::media::fenced::CONTROLLERS_MAX;
use crate::metrics::Metrics;
use crate::metrics::cut::Cut;
use crate::os::tcp::tune;

/// Handshakes at once. Strangers share them, and leave the places of controllers alone.
const HANDSHAKES_MAX: usize = 64;

/// How long a controller may take to open its stream.
const FIRST_STREAM_MAX: Duration = Duration::from_secs(5);

/// The connection that a stream is opened on. Cheap to clone.
#[derive(Clone)]
pub(super) struct Origin {
    /// The name in the certificate of the controller.
    pub name: Arc<str>,
    /// The certificate is for controllers.
    pub is_controller: bool,
    /// The certificate is for media nodes.
    pub is_node: bool,
    closing: Arc<Mutex<Option<oneshot::Sender<()>>>>,
    has_stream: Arc<AtomicBool>,
}

impl Origin {
    /// A stream is opened, so the connection may stay.
    pub(super) fn opened(&self) {
        self.has_stream.store(true, Ordering::Relaxed);
    }

    /// Ends the connection, whatever waits to be sent over it. Returns whether it was still there.
    pub(super) fn close(&self) -> bool {
        let sender = self.closing.lock().unwrap_or_else(PoisonError::into_inner).take();
        // An error means that the connection has ended.
        sender.is_some_and(|sender| sender.send(()).is_ok())
    }
}

/// A connection of a controller.
pub(super) struct Stream {
    stream: TlsStream<TcpStream>,
    origin: Origin,
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
    let of_controllers = Arc::new(Semaphore::new(CONTROLLERS_MAX));
    // A machine may be both. The thread counts the controllers among them.
    let of_nodes = Arc::new(Semaphore::new(LINK_PEERS_MAX + CONTROLLERS_MAX));
    // Aborted when it is dropped.
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let (stream, from) = next_connection(|| listener.accept(), || ()).await;
        let Ok(handshake) = handshakes.clone().try_acquire_owned() else {
            metrics.southbound_cut(Cut::Full);
            continue;
        };
        let (tls, accepted, metrics) = (tls.clone(), accepted.clone(), metrics.clone());
        let places = [of_controllers.clone(), of_nodes.clone()];
        tasks.spawn(async move {
            let shaken = timeout(HELLO_MAX, shake_hands(stream, from, &tls)).await;
            drop(handshake);
            let outcome = shaken.unwrap_or(Err(Cut::Silent)).and_then(|(stream, peer)| {
                let is_node = peer.has_role(Role::Media);
                let [of_controllers, of_nodes] = places;
                let places = if is_node { of_nodes } else { of_controllers };
                let _place = places.try_acquire_owned().map_err(|_| Cut::Full)?;
                let (closing, closed) = oneshot::channel();
                let origin = Origin {
                    is_controller: peer.has_role(Role::Controller),
                    is_node,
                    name: peer.name,
                    closing: Arc::new(Mutex::new(Some(closing))),
                    has_stream: Arc::default(),
                };
                Ok(Stream {
                    stream,
                    origin,
                    closed,
                    _place,
                })
            });
            match outcome {
                Ok(stream) => {
                    let origin = stream.origin.clone();
                    // An error means that the node ends.
                    let _ = accepted.send(stream).await;
                    sleep(FIRST_STREAM_MAX).await;
                    if !origin.has_stream.load(Ordering::Relaxed) && origin.close() {
                        warn!(%from, name = &*origin.name, "a peer that opens no stream is disconnected");
                        metrics.southbound_cut(Cut::Silent);
                    }
                }
                Err(why) => {
                    debug!(%from, ?why, "a connection is refused");
                    metrics.southbound_cut(why);
                }
            }
        });
    }
}

/// The stream, with the certificate of a controller or a media node.
async fn shake_hands(
    stream: TcpStream,
    from: SocketAddr,
    tls: &ClusterTls,
) -> Result<(TlsStream<TcpStream>, Peer), Cut> {
    tune(&stream, KEEP_ALIVE_EVERY + KEEP_ALIVE_MAX);
    let stream = tls.acceptor().accept(stream).await.map_err(|error| {
        warn!(%from, %error, "a peer that is no controller of this cluster is refused");
        Cut::Handshake
    })?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = certificates.first().and_then(Peer::of);
    match peer {
        Some(peer) if peer.has_role(Role::Controller) || peer.has_role(Role::Media) => Ok((stream, peer)),
        peer => {
            let name = peer.as_ref().map(|peer| &*peer.name);
            warn!(%from, name, "a peer whose certificate is for neither controllers nor media nodes is refused");
            Err(Cut::Role)
        }
    }
}

impl Connected for Stream {
    type ConnectInfo = Origin;

    fn connect_info(&self) -> Origin {
        self.origin.clone()
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
