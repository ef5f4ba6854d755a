//! Requests of proxies in datagrams, which most proxies use.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;
use tracing::warn;

use super::access::Access;
use super::requests::{ControlMessage, Gone, Handle, Protocol, ReplyTo};
use super::shares::Shares;

/// The longest datagram there is.
const DATAGRAM_MAX: usize = 65_536;

/// How many datagrams are read in one go. Those of a proxy that floods are read and dropped, so
/// that the others do not wait behind them in the socket.
const BURST_MAX: usize = 128;

/// Passes on the requests of addresses that may control calls.
pub(crate) async fn serve(socket: UdpSocket, protocol: Protocol, handle: Handle, access: Arc<Access>) {
    let reader = Reader {
        socket: Arc::new(socket),
        protocol,
        handle,
        access,
        shares: Shares::default(),
    };
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        // An error is that of reading.
        let _ = reader.socket.readable().await;
        for _ in 0..BURST_MAX {
            match reader.socket.try_recv_from(&mut buffer) {
                Ok((len, from)) => {
                    if reader.take(&buffer[..len], from).await.is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The error is an earlier reply's; the next datagram is independent of it.
                Err(error) => warn!(%error, "a control socket failed"),
            }
        }
    }
}

struct Reader {
    socket: Arc<UdpSocket>,
    protocol: Protocol,
    handle: Handle,
    access: Arc<Access>,
    shares: Shares,
}

impl Reader {
    /// Passes on a datagram, if its sender may control calls and has a share for it.
    async fn take(&self, datagram: &[u8], from: SocketAddr) -> Result<(), Gone> {
        if !self.access.admits(from.ip()) {
            return Ok(());
        }
        let proxy = from.ip().to_canonical();
        let Some(share) = self.shares.take(proxy) else {
            self.access.crowded();
            return Ok(());
        };
        let asked = ControlMessage {
            protocol: self.protocol,
            from: Some(proxy),
            message: datagram.to_vec(),
            reply_to: ReplyTo::Datagram(self.socket.clone(), from),
            _share: Some(share),
        };
        self.handle.ask(asked).await
    }
}
