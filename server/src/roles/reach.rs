//! The ways by which clients reach media: the TURN server, and addresses that change.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use agent::NodeAddresses;
use tracing::info;

use super::seed;
use crate::clients::peeked::HandOver;
use crate::config::{self, Config};
use crate::dataplane::MediaPorts;
use crate::media::ReceiverQuery;
use crate::media::addresses::{self, Addresses, Known, Reached};
use crate::turn_server::{self, Peer, TurnServer};

/// Starts the TURN server, if there is to be one.
pub(crate) fn start_turn(config: &Config, reached: &[Reached]) -> Result<Option<Arc<TurnServer>>, Box<dyn Error>> {
    let Some(turn) = config.turn.as_ref().filter(|turn| turn.is_own()) else {
        return Ok(None);
    };
    let peers = peers(reached, &config.rtc.dataplane.ports);
    let server = Arc::new(TurnServer::new(turn.server.secret.clone(), &seed()?, peers));
    if let Some(port) = turn.port {
        turn_server::serve(&server, &config.bind, port)?;
    }
    Ok(Some(server))
}

/// The part of the TURN server that takes clients over TLS, if it is to.
pub(crate) fn over_tls(config: &Config, server: Option<&Arc<TurnServer>>) -> Option<HandOver> {
    config.turn.as_ref().filter(|turn| turn.tls)?;
    let server = server?.clone();
    Some(Arc::new(move |stream, from| turn_server::admit(&server, stream, from)))
}

/// Media as clients of the TURN server reach it. An address that this machine does not have may be
/// another machine's, and is no peer.
fn peers(reached: &[Reached], ports: &MediaPorts) -> Vec<Peer> {
    let local = |reached: &Reached| Some((reached.advertised, reached.local?));
    let at_ports = |(advertised, local): (IpAddr, IpAddr)| {
        ports.range().map(move |port| Peer {
            advertised: SocketAddr::new(advertised, port),
            local: SocketAddr::new(local, port),
        })
    };
    reached.iter().filter_map(local).flat_map(at_ports).collect()
}

/// Tells the node and the TURN server of every change of this machine's addresses. `ports` are
/// those of UDP and, if it is open, TCP.
pub(crate) async fn follow(
    addresses: Addresses,
    mut known: Known,
    ports: (MediaPorts, Option<u16>),
    node: ReceiverQuery,
    turn: Option<Arc<TurnServer>>,
) {
    let (udp, tcp) = ports;
    loop {
        addresses.changed(&mut known).await;
        let advertised = addresses::advertised(&known.reached);
        info!(addresses = ?advertised, "this machine's addresses have changed");
        let over_tcp = tcp.map(|port| addresses::at(&advertised, port..=port));
        node.set_addresses(NodeAddresses {
            udp: addresses::at(&advertised, udp.range()),
            tcp: over_tcp.unwrap_or_default(),
            local_ips: known.behind_nat(),
        })
        .await;
        if let Some(turn) = &turn {
            turn.set_peers(peers(&known.reached, &udp));
        }
    }
}

/// A TURN server as clients get to know it. Weir's own is where media is, and over TLS where the
/// first names of the certificate are, unless it has other addresses.
pub(crate) fn turn_for_clients(
    turn: &config::Turn,
    https: Option<&config::Tls>,
    node_addresses: &[IpAddr],
) -> controller::TurnServer {
    let mut server = turn.server.clone();
    if !server.urls.is_empty() {
        return server;
    }
    server.urls = turn
        .port
        .map_or_else(Vec::new, |port| turn_server::urls(node_addresses, port));
    let over_tls = |https: &config::Tls| {
        let names = https.acme.iter().flat_map(|acme| &acme.names);
        let url = |name: &String| format!("turns:{name}:{}?transport=tcp", https.port);
        names.take(config::URLS_MAX).map(url).collect::<Vec<String>>()
    };
    let https = https.filter(|_| turn.tls);
    server.urls.extend(https.map(over_tls).unwrap_or_default());
    server
}
