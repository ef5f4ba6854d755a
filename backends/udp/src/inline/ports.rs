//! Ports of relays without sockets.

use std::io;
use std::net::SocketAddr;

use dataplane::{Egress, Path};

use super::sent::Sent;
use crate::relays::{RelaySlot, RelaySocket, SocketFactory, SocketRegistry};

/// A port without a socket.
#[derive(Clone)]
pub(crate) struct InlineSocket {
    at: SocketAddr,
    sent: Sent,
}

impl RelaySocket for InlineSocket {
    fn send(&self, to: SocketAddr, _tos: Option<u8>, bytes: &[u8]) -> bool {
        let path = Path {
            local: self.at,
            remote: to,
        };
        let bytes = bytes.to_vec();
        self.sent.with(|sent| sent.push(Egress { leg: None, path, bytes }));
        true
    }

    fn overflows(&self) -> u64 {
        0
    }
}

/// Opens any port.
pub(crate) struct InlineSockets(Sent);

impl InlineSockets {
    /// A factory of ports that put sent datagrams into `sent`.
    pub(crate) fn new(sent: Sent) -> Self {
        InlineSockets(sent)
    }
}

impl SocketFactory for InlineSockets {
    type Socket = InlineSocket;

    fn open(&mut self, at: SocketAddr) -> io::Result<InlineSocket> {
        let sent = self.0.clone();
        Ok(InlineSocket { at, sent })
    }
}

/// A registry that does nothing.
pub(crate) struct NoRegistry;

impl SocketRegistry<InlineSocket> for NoRegistry {
    fn register(&mut self, _slot: usize, _entry: &RelaySlot<InlineSocket>) {}

    fn unregister(&mut self, _entry: &RelaySlot<InlineSocket>) {}
}
