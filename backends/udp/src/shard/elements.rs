//! Where the known header extensions are in a packet.

use wire::{ExtensionKind, ExtensionMap, RtpPacket};

/// The kinds that describe the hop they came over; a replica gets its own instead.
const OF_THE_HOP: u16 = bit(ExtensionKind::Mid)
    | bit(ExtensionKind::Rid)
    | bit(ExtensionKind::RepairedRid)
    | bit(ExtensionKind::AbsSendTime)
    | bit(ExtensionKind::TransportSequence);

const fn bit(kind: ExtensionKind) -> u16 {
    1 << kind as u16
}

/// The first element of each kind, found in one pass over the extension when the packet arrived.
///
/// Positions instead of values, so that the packet may be shared and kept: the ids are those of the
/// day it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    /// By kind: whether it is there.
    present: u16,
    /// By kind: where its value starts, and how long it is.
    places: [(u16, u8); ExtensionKind::ALL.len()],
}

impl Elements {
    pub(crate) fn find(packet: &RtpPacket<'_>, map: &ExtensionMap) -> Self {
        let mut this = Elements {
            present: 0,
            places: [(0, 0); ExtensionKind::ALL.len()],
        };
        let start = packet.as_bytes().as_ptr().addr();
        for (id, value) in packet.extensions() {
            let Some(kind) = map.kind(id) else { continue };
            if this.present & bit(kind) == 0 {
                this.present |= bit(kind);
                this.places[kind as usize] = ((value.as_ptr().addr() - start) as u16, value.len() as u8);
            }
        }
        this
    }

    /// The value of a kind in `bytes`, the packet this was found in.
    pub(crate) fn value<'a>(&self, bytes: &'a [u8], kind: ExtensionKind) -> Option<&'a [u8]> {
        (self.present & bit(kind) != 0).then(|| self.slice(bytes, kind as usize))
    }

    /// Whether there is anything that a replica may carry on.
    pub(crate) fn carries_any(&self) -> bool {
        self.present & !OF_THE_HOP != 0
    }

    /// What a replica may carry on, in the order of the kinds.
    pub(crate) fn carried<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (ExtensionKind, &'a [u8])> {
        let mut left = self.present & !OF_THE_HOP;
        std::iter::from_fn(move || {
            let kind = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((ExtensionKind::ALL[kind], self.slice(bytes, kind)))
        })
    }

    fn slice<'a>(&self, bytes: &'a [u8], kind: usize) -> &'a [u8] {
        let (at, len) = self.places[kind];
        &bytes[usize::from(at)..usize::from(at) + usize::from(len)]
    }
}
