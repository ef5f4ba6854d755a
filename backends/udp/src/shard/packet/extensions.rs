//! The places of known header extensions in a packet.

use wire::{ExtensionKind, ExtensionMap, RtpPacket};

/// The kinds that describe one hop. A replica gets its own instead.
const HOP_BY_HOP: u16 = bit(ExtensionKind::Mid)
    | bit(ExtensionKind::Rid)
    | bit(ExtensionKind::RepairedRid)
    | bit(ExtensionKind::AbsSendTime)
    | bit(ExtensionKind::TransportSequence);

const fn bit(kind: ExtensionKind) -> u16 {
    1 << kind as u16
}

/// The first element of each kind, found in one pass over the extension when the packet arrived.
///
/// Positions instead of values, so that the packet may be shared and kept. Ids are mapped when the
/// packet arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extensions {
    /// By kind: whether it is there.
    present: u16,
    /// By kind: where its value starts, and how long it is.
    places: [(u16, u8); ExtensionKind::ALL.len()],
}

impl Extensions {
    pub(crate) fn find(packet: &RtpPacket<'_>, map: &ExtensionMap) -> Self {
        let mut this = Extensions {
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

    /// Whether there is an extension that a replica may forward.
    pub(crate) fn forwards_any(&self) -> bool {
        self.present & !HOP_BY_HOP != 0
    }

    /// The extensions that a replica may forward, in the order of the kinds.
    pub(crate) fn forwarded<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = (ExtensionKind, &'a [u8])> {
        let mut left = self.present & !HOP_BY_HOP;
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
