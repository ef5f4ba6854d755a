//! Clients over UDP.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use turn::limits::MESSAGE_MAX;
use turn::{Client, Outcome, Refusal};

use super::counts::TurnEvent;
use super::link::Link;
use super::{TurnServer, client};
use crate::os::clock;

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
        let (access, times) = (server.access(), client::times());
        if !access.server.admits(times.unix, address, message) {
            // A client is kept only at an address that receives.
            let mut stranger = Client::new(address);
            if let Outcome::Answer(answer) =
                stranger.receive(&access.server, times, message, |_, _| Err(Refusal::NoPort))
            {
                // An error drops it, as on any path.
                let _ = socket.try_send_to(&answer, from);
            }
            continue;
        }
        if clients.len() >= listed_max {
            clients.retain(|_, client| !client.is_closed());
            listed_max = LISTED.max(2 * clients.len());
        }
        if let Some(client) = admit(&server, &socket, from, address) {
            let _ = client.try_send(message.to_vec());
            clients.insert(from, client);
        }
    }
}

/// Starts the task of a new client, if it may be one more. `address` is the canonical form of
/// `from`.
fn admit(
    server: &Arc<TurnServer>,
    socket: &Arc<UdpSocket>,
    from: SocketAddr,
    address: SocketAddr,
) -> Option<mpsc::Sender<Vec<u8>>> {
    let Ok(place) = server.places.enter(Some(address.ip()), clock::now()) else {
        server.counts.add(TurnEvent::Full);
        return None;
    };
    let (sender, incoming) = mpsc::channel(WAITING_MAX);
    let link = Link::Datagrams {
        incoming,
        socket: socket.clone(),
        client: from,
    };
    tokio::spawn(client::serve(server.clone(), link, address, place));
    Some(sender)
}
