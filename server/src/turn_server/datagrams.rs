//! Clients over UDP. One is kept only once it has an allocation.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use turn::limits::MESSAGE_MAX;

use super::TurnServer;
use super::client::{self, Session};
use super::link::Link;

/// Messages of one client that wait for its task. Further ones are dropped.
const WAITING_MAX: usize = 64;
/// How many clients are listed, gone ones included, before those are looked for.
const LISTED: usize = 1_024;

/// Serves the clients that send to a port.
pub(super) async fn serve(server: Arc<TurnServer>, socket: Arc<UdpSocket>) {
    let mut clients: HashMap<SocketAddr, mpsc::Sender<Vec<u8>>> = HashMap::new();
    let mut listed_max = LISTED;
    let mut buffer = vec![0; MESSAGE_MAX + 1];
    loop {
        let (len, from) = match socket.recv_from(&mut buffer).await {
            Ok((len, from)) if len <= MESSAGE_MAX => (len, from),
            // Too long, or the error of an earlier answer.
            _ => continue,
        };
        let message = &buffer[..len];
        let known = clients.get(&from).filter(|client| !client.is_closed());
        if let Some(client) = known {
            // A full queue drops it, as on any path.
            let _ = client.try_send(message.to_vec());
            continue;
        }
        let address = SocketAddr::new(from.ip().to_canonical(), from.port());
        let mut session = Session::new(address);
        let Some(reply) = session.take(&server, message).await else {
            continue;
        };
        if reply.is_open && !server.may_answer(address.ip()) {
            continue;
        }
        // An error drops it, as on any path.
        let _ = socket.try_send_to(&reply.bytes, from);
        if !session.is_allocated() {
            continue;
        }
        if clients.len() >= listed_max {
            clients.retain(|_, client| !client.is_closed());
            listed_max = LISTED.max(2 * clients.len());
        }
        let (sender, incoming) = mpsc::channel(WAITING_MAX);
        let link = Link::Datagrams {
            incoming,
            socket: socket.clone(),
            client: from,
        };
        tokio::spawn(client::serve(server.clone(), link, session, None));
        clients.insert(from, sender);
    }
}
