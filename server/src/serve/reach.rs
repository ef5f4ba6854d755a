//! The ways by which clients reach media: the TURN server, and addresses that change.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tracing::info;

use crate::config::{self, Config};
use crate::media::ReceiverQuery;
use crate::media::addresses::{self, Addresses, Reached};
use crate::turn_server::{self, Peer, TurnServer};

/// Starts the TURN server, if there is to be one.
pub(crate) fn start_turn(config: &Config, reached: &[Reached]) -> Result<Option<Arc<TurnServer>>, Box<dyn Error>> {
    let Some((turn, port)) = config.turn.as_ref().and_then(|turn| Some((turn, turn.port?))) else {
        return Ok(None);
    };
    let peers = peers(reached, config.rtc.port);
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| format!("the operating system gives no randomness: {error}"))?;
    let server = Arc::new(TurnServer::new(turn.server.secret.clone(), &seed, peers));
    turn_server::serve(&server, &config.bind, port)
        .map_err(|error| format!("cannot open TURN port {port}: {error}"))?;
    Ok(Some(server))
}

/// Media as clients of the TURN server reach it.
fn peers(reached: &[Reached], port: u16) -> Vec<Peer> {
    let peer = |reached: &Reached| Peer {
        advertised: SocketAddr::new(reached.advertised, port),
        local: SocketAddr::new(reached.local, port),
    };
    reached.iter().map(peer).collect()
}

/// Tells the node and the TURN server of every change of this machine's addresses. `ports` are
/// those of UDP and, if it is open, TCP.
pub(crate) async fn follow(
    addresses: Addresses,
    mut reached: Vec<Reached>,
    ports: (u16, Option<u16>),
    node: ReceiverQuery,
    turn: Option<Arc<TurnServer>>,
) {
    let (udp, tcp) = ports;
    loop {
        addresses.changed(&mut reached).await;
        let advertised = addresses::advertised(&reached);
        info!(addresses = ?advertised, "this machine's addresses have changed");
        let over_tcp = tcp.map(|port| addresses::at(&advertised, port));
        node.set_addresses([addresses::at(&advertised, udp), over_tcp.unwrap_or_default()])
            .await;
        if let Some(turn) = &turn {
            turn.set_peers(peers(&reached, udp));
        }
    }
}

/// A TURN server as clients get to know it. Weir's own is where media is, unless it has other
/// addresses.
pub(crate) fn turn_for_clients(turn: &config::Turn, node_addresses: &[IpAddr]) -> controller::TurnServer {
    let mut server = turn.server.clone();
    if let Some(port) = turn.port.filter(|_| server.urls.is_empty()) {
        server.urls = turn_server::urls(node_addresses, port);
    }
    server
}
