//! Requests of proxies in datagrams, which most proxies use.

use std::sync::Arc;

use tokio::net::UdpSocket;
use tracing::warn;

use super::access::Access;
use super::requests::{Handle, Protocol, ReplyTo};

/// The longest datagram there is.
const DATAGRAM_MAX: usize = 65_536;

/// Passes on the requests of addresses that may control calls.
pub(crate) async fn serve(socket: UdpSocket, protocol: Protocol, handle: Handle, access: Arc<Access>) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        let (len, from) = match socket.recv_from(&mut buffer).await {
            Ok(received) => received,
            Err(error) => {
                // The error is an earlier reply's; the next datagram is independent of it.
                warn!(%error, "a control socket failed");
                continue;
            }
        };
        if !access.admits(from.ip()) {
            continue;
        }
        let reply_to = ReplyTo::Datagram(socket.clone(), from);
        let from = Some(from.ip().to_canonical());
        if handle
            .ask(protocol, from, buffer[..len].to_vec(), reply_to)
            .await
            .is_err()
        {
            return;
        }
    }
}
