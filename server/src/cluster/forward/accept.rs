//! The connections of other controllers.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use super::places::{Place, Places};
use crate::cli::Role;
use crate::clients::accept::next_connection;
use crate::clients::connection_slots::{ConnectionSlots, Limits};
use crate::clients::write_timeout::WriteTimeout;
use crate::cluster::peer::Peer;
use crate::cluster::tls::ClusterTls;
use crate::metrics::forwarded::{ForwardCounts, ForwardFailure};
use crate::os::clock;
use crate::os::tcp::tune;

/// Handshakes at once, which strangers share. For one more, the oldest of the address with the most
/// gives way. It is several times what one controller opens at once.
const HANDSHAKES: Limits = Limits {
    all: 1024,
    per_address: 256,
    pending_per_address: 256,
};

/// How long a handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(3);

/// Connections of one controller that carry requests. One more is closed. WebSockets do not count:
/// they have places of their clients.
const CONNECTIONS_MAX: usize = 4096;

/// A connection of another controller of the cluster.
pub(crate) struct Accepted {
    /// The connection that requests come over.
    pub stream: TlsStream<WriteTimeout>,
    /// Its place, to be kept while it carries requests.
    pub place: Place,
}

/// Takes connections, and has each served by a task of its own. Does not end by itself.
///
/// A peer that reads nothing for `write_max` is reset.
pub(crate) async fn serve<F>(
    listener: TcpListener,
    tls: ClusterTls,
    counts: ForwardCounts,
    write_max: Duration,
    serve: impl Fn(Accepted) -> F + Clone + Send + 'static,
) where
    F: Future<Output = ()> + Send,
{
    let places = Places::new(CONNECTIONS_MAX);
    let handshakes = ConnectionSlots::new(HANDSHAKES);
    loop {
        let (stream, from) = next_connection(|| listener.accept(), || ()).await;
        let Ok((handshake, evicted)) = handshakes.enter(Some(from.ip()), clock::now()) else {
            counts.failed(ForwardFailure::Full);
            continue;
        };
        let (tls, places, counts, serve) = (tls.clone(), places.clone(), counts.clone(), serve.clone());
        tokio::spawn(async move {
            let accepted = tokio::select! {
                accepted = timeout(HANDSHAKE_MAX, accept(stream, from, &tls, &places, write_max)) => {
                    accepted.unwrap_or(Err(ForwardFailure::Silent))
                }
                Ok(_) = evicted => Err(ForwardFailure::Full),
            };
            drop(handshake);
            match accepted {
                Ok(accepted) => serve(accepted).await,
                Err(why) => {
                    debug!(%from, ?why, "a connection for requests of controllers is refused");
                    counts.failed(why);
                }
            }
        });
    }
}

async fn accept(
    stream: TcpStream,
    from: SocketAddr,
    tls: &ClusterTls,
    places: &Places,
    write_max: Duration,
) -> Result<Accepted, ForwardFailure> {
    tune(&stream, 2 * write_max);
    let stream = tls.forward_acceptor().accept(WriteTimeout::new(stream, write_max));
    let stream = stream.await.map_err(|error: io::Error| {
        warn!(%from, %error, "a peer that is no controller of this cluster is refused");
        ForwardFailure::Handshake
    })?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = certificates.first().and_then(Peer::of);
    let Some(peer) = peer.filter(|peer| peer.has_role(Role::Controller)) else {
        warn!(%from, "a peer whose certificate is not for controllers is refused");
        return Err(ForwardFailure::Handshake);
    };
    let place = places.enter(peer.name.to_string());
    let place = place.ok_or(ForwardFailure::Full)?;
    Ok(Accepted { stream, place })
}
