//! Transport-wide numbers of a leg count its packets from both the kernel and the base.

use std::collections::BTreeMap;

use conformance::Datagram;
use dataplane::{Leg, LegId, Update};
use wire::extension::parse_transport_sequence;
use wire::{ExtensionKind, PacketKind, RtpPacket};

/// Every leg, and how many of its packets had a transport-wide number.
#[derive(Default)]
pub(crate) struct Numbers(BTreeMap<LegId, (Leg, u16)>);

impl Numbers {
    pub(crate) fn apply(&mut self, update: &Update) {
        match update {
            Update::SetLeg(id, leg) => self.0.entry(*id).or_insert_with(|| (leg.clone(), 0)).0 = leg.clone(),
            Update::RemoveLeg(id) => drop(self.0.remove(id)),
            _ => {}
        }
    }

    /// Panics where a number was left out or comes again.
    pub(crate) fn sent(&mut self, datagram: &Datagram) {
        let on = |(leg, _): &&mut (Leg, u16)| leg.paths.first() == Some(&datagram.path);
        let Some((leg, count)) = self.0.values_mut().find(on) else {
            return;
        };
        if wire::classify(&datagram.bytes) != PacketKind::Rtp {
            return;
        }
        // On protected legs the padding count is sealed.
        let packet = RtpPacket::parse_protected(&datagram.bytes).expect("sent packets can be parsed");
        let id = leg.extensions_out.id(ExtensionKind::TransportSequence);
        if let Some(value) = id.and_then(|id| packet.extension(id)) {
            assert_eq!(
                parse_transport_sequence(value),
                Some(*count),
                "to {}",
                datagram.path.remote
            );
            *count = count.wrapping_add(1);
        }
    }
}
