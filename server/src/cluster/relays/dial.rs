//! The connection that this machine makes to another one.

use std::sync::Arc;
use std::time::Duration;

use sip::PeerMessage;
use southbound::NodeId;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tracing::debug;

use super::link::{self, SILENCE_MAX};
use super::registry::Place;
use super::{Context, RelayEvent};
use crate::cli::Role;
use crate::cluster::peer::Peer;
use crate::metrics::relay_peers::PeerFailure;
use crate::os::tcp::tune;

/// How long a machine may take to accept a connection, and for the handshake.
const CONNECT_MAX: Duration = Duration::from_secs(1);

/// The pause after an attempt that failed, and between two looks at a connection that there is.
const RETRY: Duration = Duration::from_millis(500);

/// How long the machine with the higher id leaves the first attempt to the other one.
const COURTESY: Duration = Duration::from_millis(200);

/// Keeps a connection to a machine as long as the store has its address. Does not end by itself.
pub(super) async fn keep(peer: NodeId, mut address: watch::Receiver<Option<String>>, context: Context) {
    if peer < context.own {
        sleep(COURTESY).await;
    }
    loop {
        let known = address.borrow_and_update().clone();
        let Some(known) = known else {
            if address.changed().await.is_err() {
                return;
            }
            continue;
        };
        if !context.registry.is_linked(peer) {
            match connect(&known, peer, &context).await {
                Ok((stream, name, place)) => {
                    link::run(stream, (peer, &name), PeerMessage::Ping, place, &context).await;
                }
                Err(why) => {
                    debug!(address = known, ?why, "another relay of calls cannot be reached");
                    context.counts.failed(why);
                    // The other one may have connected meanwhile.
                    if !context.registry.is_linked(peer) {
                        // An error means that the process ends.
                        let _ = context.events.send(RelayEvent::Unreached(peer)).await;
                    }
                }
            }
        }
        sleep(RETRY).await;
    }
}

type Connected = (
    TlsStream<TcpStream>,
    Arc<str>,
    (Place, tokio::sync::oneshot::Receiver<()>),
);

async fn connect(address: &str, peer: NodeId, context: &Context) -> Result<Connected, PeerFailure> {
    let stream = timeout(CONNECT_MAX, TcpStream::connect(address)).await;
    let stream = stream.map_err(|_| PeerFailure::Unreachable)?;
    let stream = stream.map_err(|_| PeerFailure::Unreachable)?;
    tune(&stream, SILENCE_MAX);
    let role = ServerName::try_from(Role::Sip.name()).map_err(|_| PeerFailure::Handshake)?;
    let shaken = timeout(CONNECT_MAX, context.tls.relay_connector().connect(role, stream)).await;
    let shaken = shaken.map_err(|_| PeerFailure::Unreachable)?;
    let mut stream = shaken.map_err(|error| {
        debug!(address, %error, "a peer is no relay of calls of this cluster");
        PeerFailure::Handshake
    })?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let name = certificates.first().and_then(Peer::of).map(|peer| peer.name);
    let name = name.ok_or(PeerFailure::Handshake)?;
    // A machine that has started again has another id, and the store will say so.
    if link::greet(&mut stream, context.own).await? != peer {
        return Err(PeerFailure::Identity);
    }
    let place = context.registry.enter(peer, &name, true)?;
    Ok((stream, name, place))
}
