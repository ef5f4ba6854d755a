//! Packets of data tracks, by the routes that the owner of the room has set.

use std::sync::Arc;

use southbound::{Command, MessageProtocol, NodeId, TransportId};

use super::{Arrived, Beyond, Endpoints, Onward, Passing};

/// A packet of a data track for other nodes.
#[derive(Debug)]
pub(in crate::fence) struct TrackPacket {
    /// The handle that receivers know.
    pub(in crate::fence) handle: u16,
    /// The packet with that handle.
    pub(in crate::fence) payload: Arc<[u8]>,
    /// The nodes that it goes to over links, each with the number of its endpoints.
    pub(in crate::fence) nodes: Vec<(NodeId, u64)>,
}

impl Endpoints {
    /// Passes on a packet of a data track.
    pub(super) fn pass_packet(
        &self,
        protocol: &dyn MessageProtocol,
        (sender, handle): (TransportId, u16),
        arrived: &Arrived<'_>,
        beyond: &Beyond<'_>,
        out: &mut Vec<Command>,
    ) -> (Passing, Option<Onward>) {
        let route = self.all.get(&sender).and_then(|endpoint| endpoint.tracks.get(&handle));
        let Some(route) = route else {
            return (Passing::None, None);
        };
        let to = self.present(&route.receivers);
        let nodes = route.nodes.iter().filter(|node| beyond.links.is_open(**node));
        let nodes = nodes.filter_map(|node| Some((*node, *beyond.reached.get(node)?)));
        let nodes: Vec<_> = nodes.collect();
        let is_all = !route.elsewhere && nodes.len() == route.nodes.len();
        let passing = match is_all {
            true => Passing::All,
            false => Passing::Some(self.last_number),
        };
        if to.is_empty() && nodes.is_empty() {
            return (passing, None);
        }
        let payload = protocol.with_handle(arrived.payload, route.sent_as);
        if !to.is_empty() {
            out.push(Command::Send {
                to,
                label: arrived.label.clone(),
                payload: payload.clone(),
                reliable: false,
                message: Some(arrived.message),
            });
        }
        let packet = TrackPacket {
            handle: route.sent_as,
            payload,
            nodes,
        };
        (passing, Some(Onward::Packet(packet)))
    }

    /// Those of some receivers that have endpoints.
    fn present(&self, receivers: &[TransportId]) -> Vec<TransportId> {
        let present = receivers.iter().filter(|receiver| self.all.contains_key(receiver));
        present.copied().collect()
    }

    /// Those of some receivers that have endpoints with numbers up to this one.
    pub(in crate::fence) fn up_to(&self, receivers: &[TransportId], number: u64) -> Vec<TransportId> {
        let is_due = |receiver: &&TransportId| (1..=number).contains(&self.number(**receiver));
        receivers.iter().filter(is_due).copied().collect()
    }
}
