//! Connections that other machines make.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use super::Context;
use super::link::{self, SILENCE_MAX};
use crate::cli::Role;
use crate::clients::accept::next_connection;
use crate::cluster::peer::Peer;
use crate::metrics::relay_peers::PeerFailure;
use crate::os::tcp::tune;

/// Handshakes and hellos at once, which strangers share. One more connection is closed.
const HANDSHAKES_MAX: usize = 64;

/// How long a handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(3);

/// Takes connections. Does not end by itself.
pub(super) async fn serve(listener: TcpListener, context: Context) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    // Aborted when it is dropped.
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let (stream, from) = next_connection(|| listener.accept(), || ()).await;
        let Ok(handshake) = handshakes.clone().try_acquire_owned() else {
            context.counts.failed(PeerFailure::Full);
            continue;
        };
        let context = context.clone();
        tasks.spawn(async move {
            let entered = async {
                let (mut stream, name) = shake_hands(stream, from, &context).await?;
                let peer = link::greet(&mut stream, context.own).await?;
                let first = link::confirmation(&mut stream).await?;
                let place = context.registry.enter(peer, &name, false)?;
                Ok((stream, (peer, name), first, place))
            };
            let entered = entered.await;
            drop(handshake);
            match entered {
                Ok((stream, (peer, name), first, place)) => {
                    link::run(stream, (peer, &name), first, place, &context).await;
                }
                Err(why) => {
                    debug!(%from, ?why, "a connection of a relay of calls is refused");
                    context.counts.failed(why);
                }
            }
        });
    }
}

/// The stream, with the name in the certificate of the other machine.
async fn shake_hands(
    stream: TcpStream,
    from: SocketAddr,
    context: &Context,
) -> Result<(TlsStream<TcpStream>, Arc<str>), PeerFailure> {
    tune(&stream, SILENCE_MAX);
    let shaken = timeout(HANDSHAKE_MAX, context.tls.relay_acceptor().accept(stream)).await;
    let stream = shaken.map_err(|_| PeerFailure::Silent)?.map_err(|error| {
        warn!(%from, %error, "a peer that is no relay of calls of this cluster is refused");
        PeerFailure::Handshake
    })?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = certificates.first().and_then(Peer::of);
    match peer.filter(|peer| peer.has_role(Role::Sip)) {
        Some(peer) => Ok((stream, peer.name)),
        None => {
            warn!(%from, "a peer whose certificate is not for relays of calls is refused");
            Err(PeerFailure::Role)
        }
    }
}
