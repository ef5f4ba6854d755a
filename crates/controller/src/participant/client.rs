//! The client of a participant, as far as it is not like all others.

use environment::Random;
use southbound::{Channel, TransportId};

use crate::negotiation::Peer;
use crate::{ClientTraits, IceProtocol};

/// The client of a participant, as far as it is not like all others.
pub(crate) struct Client {
    /// Special needs of it.
    pub(crate) traits: ClientTraits,
    /// The protocol it reaches media by.
    pub(crate) protocol: IceProtocol,
    /// Which of the node's UDP ports it uses, modulo the number of ports.
    pub(crate) port_index: usize,
}

impl Client {
    /// A new peer connection with it. `opens` are the data channels that we open.
    pub(crate) fn peer(&self, transport: TransportId, random: &mut Random, opens: Vec<Channel>) -> Peer {
        let disabled = self.traits.disabled_codecs;
        Peer::new(transport, random, opens, disabled, self.protocol, self.port_index)
    }
}
