//! Media that arrives at a port before the keys of its party.

use std::net::SocketAddr;

use crate::context::protected_media::Keying;
use crate::relays::Relays;

impl Relays {
    /// How far the keys of a port's party have come.
    pub(crate) fn keying(&self, at: SocketAddr) -> Keying {
        match self.ports.get(&at).and_then(|port| port.secure.as_ref()) {
            Some(secure) if secure.ingress().is_some() => Keying::Done,
            Some(secure) if secure.is_half_open() => Keying::UnderWay,
            _ => Keying::Absent,
        }
    }
}
