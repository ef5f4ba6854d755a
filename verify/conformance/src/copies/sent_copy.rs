//! A datagram that was sent, as it is compared.

use std::collections::BTreeMap;

use wire::{ExtensionKind, ExtensionMap, PacketKind, RtpPacket};

/// A datagram as its receiver reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentCopy {
    /// Marker, payload type, number, timestamp and SSRC, if it is RTP.
    pub(super) header: Option<(bool, u8, u16, u32, u32)>,
    elements: BTreeMap<u8, Vec<u8>>,
    /// The time of sending.
    time: Option<u32>,
    pub(super) descriptor: Option<Vec<u8>>,
    /// The payload, or all of it if it is not RTP.
    payload: Vec<u8>,
}

impl SentCopy {
    pub(super) fn of(bytes: &[u8], map: Option<&ExtensionMap>) -> Self {
        let packet = RtpPacket::parse(bytes).ok();
        let Some(packet) = packet.filter(|_| wire::classify(bytes) == PacketKind::Rtp) else {
            return SentCopy {
                header: None,
                elements: BTreeMap::new(),
                time: None,
                descriptor: None,
                payload: bytes.to_vec(),
            };
        };
        let mut elements: BTreeMap<u8, Vec<u8>> = packet.extensions().map(|(id, value)| (id, value.to_vec())).collect();
        let id = |kind| map.and_then(|map| map.id(kind));
        let time = id(ExtensionKind::AbsSendTime).and_then(|id| elements.remove(&id));
        let descriptor = id(ExtensionKind::DependencyDescriptor).and_then(|id| elements.remove(&id));
        SentCopy {
            header: Some((
                packet.marker(),
                packet.payload_type().get(),
                packet.sequence().0,
                packet.timestamp().0,
                packet.ssrc().0,
            )),
            elements,
            time: time.map(|time| time.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte))),
            descriptor,
            payload: packet.payload().to_vec(),
        }
    }

    /// Whether both are of one replica.
    pub(super) fn names(&self, other: &SentCopy) -> bool {
        let ssrc = |copy: &SentCopy| copy.header.map(|(.., ssrc)| ssrc);
        ssrc(self) == ssrc(other)
    }

    /// Whether this is what the model sends as `model`, of a packet with this descriptor.
    pub(super) fn is_alike(&self, model: &SentCopy, arrived: &Option<Vec<u8>>, is_timed: bool) -> bool {
        let is_in_time = match (self.time, model.time) {
            (Some(mine), Some(other)) if is_timed => (mine.wrapping_sub(other).wrapping_add(1)) & 0xff_ffff <= 2,
            (mine, other) => mine.is_some() == other.is_some(),
        };
        let only_moved = || {
            let (model, arrived) = (model.descriptor.as_ref()?, arrived.as_ref()?);
            Some([model.get(..3)?, arrived.get(3..)?].concat())
        };
        let has_descriptor = self.descriptor == model.descriptor || self.descriptor == only_moved();
        let rest = |copy: &SentCopy| (copy.header, copy.elements.clone(), copy.payload.clone());
        is_in_time && has_descriptor && rest(self) == rest(model)
    }
}
