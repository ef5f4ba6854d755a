//! Ports without sockets, for tests that must repeat.

use std::io;
use std::net::SocketAddr;

use dataplane::{Egress, Path};

use super::desk::Home;
use super::{Door, Doors, Watch};
use crate::inline::Sent;

/// A port that nobody else can have.
#[derive(Clone)]
pub(crate) struct InlineDoor {
    at: SocketAddr,
    sent: Sent,
}

impl Door for InlineDoor {
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
pub(crate) struct InlineDoors(Sent);

impl InlineDoors {
    /// Whose doors put what they send there.
    pub(crate) fn new(sent: Sent) -> Self {
        InlineDoors(sent)
    }
}

impl Doors for InlineDoors {
    type Door = InlineDoor;

    fn open(&mut self, at: SocketAddr) -> io::Result<InlineDoor> {
        let sent = self.0.clone();
        Ok(InlineDoor { at, sent })
    }
}

/// Nobody need be told where to listen.
pub(crate) struct Unwatched;

impl Watch<InlineDoor> for Unwatched {
    fn begin(&mut self, _place: usize, _home: &Home<InlineDoor>) {}

    fn end(&mut self, _home: &Home<InlineDoor>) {}
}
