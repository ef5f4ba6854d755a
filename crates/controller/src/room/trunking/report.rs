//! Trunks as operators see them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use southbound::{NodeId, TransportId, TransportQuality};

use super::Trunking;
use super::trunk::TrunkEnd;

/// A trunk between two nodes of a room.
#[derive(Clone, Debug, PartialEq)]
pub struct TrunkReport {
    /// The room that it is of, by name.
    pub room: Arc<str>,
    /// Its ends, in the order of their nodes.
    pub ends: [TrunkEndReport; 2],
}

/// One end of a trunk.
#[derive(Clone, Debug, PartialEq)]
pub struct TrunkEndReport {
    /// The node that it is at.
    pub node: NodeId,
    /// The address that it sends from.
    pub address: SocketAddr,
    /// Packets of the other end arrive.
    pub is_connected: bool,
    /// The tracks that it sends, each codec of a track by itself.
    pub tracks: usize,
    /// The encodings that it sends of them.
    pub encodings: usize,
    /// How it does, by its last measurement.
    pub quality: TransportQuality,
}

impl Trunking {
    /// All of its trunks.
    pub(in crate::room) fn reports(&self, room: Arc<str>) -> impl Iterator<Item = TrunkReport> {
        self.trunks.values().map(move |trunk| TrunkReport {
            room: room.clone(),
            ends: trunk.ends.each_ref().map(|end| self.report(end)),
        })
    }

    /// Takes what an end of a trunk is like.
    pub(in crate::room) fn note_end(&mut self, transport: TransportId, note: impl FnOnce(&mut TrunkEnd)) {
        let mut ends = self.trunks.values_mut().flat_map(|trunk| &mut trunk.ends);
        if let Some(end) = ends.find(|end| end.transport == transport) {
            note(end);
        }
    }

    fn report(&self, end: &TrunkEnd) -> TrunkEndReport {
        let hops = self.routes.values().flat_map(|route| route.hops.values());
        let sent = hops.flat_map(|hop| &hop.subscriptions);
        let sent: Vec<_> = sent
            .filter(|subscription| subscription.transport == end.transport && subscription.settings.enabled)
            .map(|subscription| subscription.track)
            .collect();
        TrunkEndReport {
            node: end.node,
            address: end.address,
            is_connected: end.is_connected,
            tracks: sent.iter().collect::<BTreeSet<_>>().len(),
            encodings: sent.len(),
            quality: end.quality,
        }
    }
}
