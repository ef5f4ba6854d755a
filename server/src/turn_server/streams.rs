//! Clients over TCP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::TurnServer;
use super::client::{self, Session};
use super::counts::TurnEvent;
use super::link::Link;
use crate::clients::accept::next_connection;
use crate::clients::peeked::Stream;
use crate::os::clock;
use crate::os::tcp::tune;

/// How long a client may acknowledge nothing.
const DEAD_AFTER: Duration = Duration::from_secs(15);

/// Serves the clients that connect to a port.
pub(super) async fn serve(server: Arc<TurnServer>, listener: TcpListener) {
    let evict = || server.slots.evict_oldest(clock::now());
    loop {
        let (stream, from) = next_connection(|| listener.accept(), evict).await;
        tune(&stream, DEAD_AFTER);
        admit(&server, Box::new(stream), from);
    }
}

/// Serves a client over a stream, if it may be one more.
pub(crate) fn admit(server: &Arc<TurnServer>, stream: Box<dyn Stream>, from: SocketAddr) {
    let from = SocketAddr::new(from.ip().to_canonical(), from.port());
    match server.slots.enter(Some(from.ip()), clock::now()) {
        Ok(slot) => {
            let serving = client::serve(server.clone(), Link::stream(stream), Session::new(from), Some(slot));
            tokio::spawn(serving);
        }
        Err(_) => server.counts.add(TurnEvent::Full),
    }
}
