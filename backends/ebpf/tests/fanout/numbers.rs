//! Transport-wide numbers of a leg count its packets from both the kernel and the base.

use std::collections::BTreeMap;

use conformance::Datagram;
use conformance::leg_table::LegTable;
use dataplane::{LegId, Update};
use wire::extension::parse_transport_sequence;
use wire::{ExtensionKind, PacketKind, RtpPacket};

/// Every leg, and how many of its packets had a transport-wide number.
#[derive(Default)]
pub(crate) struct Numbers {
    legs: LegTable,
    counts: BTreeMap<LegId, u16>,
}

impl Numbers {
    /// Follows an update that the device took.
    pub(crate) fn apply(&mut self, update: &Update) {
        self.legs.apply(update);
        if let Update::RemoveLeg(id) = update {
            self.counts.remove(id);
        }
    }

    /// Panics where a number was left out or comes again.
    pub(crate) fn sent(&mut self, datagram: &Datagram) {
        if wire::classify(&datagram.bytes) != PacketKind::Rtp {
            return;
        }
        let id = self.legs.of_departure(datagram.path, &datagram.bytes);
        let Some((id, leg)) = id.and_then(|id| Some((id, self.legs.entry(id)?))) else {
            return;
        };
        // On protected legs the padding count is sealed.
        let packet = RtpPacket::parse_protected(&datagram.bytes).expect("sent packets can be parsed");
        let extension = leg.extensions_out.id(ExtensionKind::TransportSequence);
        if let Some(value) = extension.and_then(|extension| packet.extension(extension)) {
            let count = self.counts.entry(id).or_default();
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
