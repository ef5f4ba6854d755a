//! The changes to a packet for one receiver.

mod descriptor;

use std::time::Instant;

use dataplane::Clock;
use wire::extension::AbsSendTime;
use wire::{Mid, PayloadType, RtpHeader, RtpTimestamp, SequenceNumber, Ssrc};

use self::descriptor::{DescriptorChange, told};
use crate::shard::packet::vp8::Vp8Ids;
use crate::shard::packet::{Packet, Span};
use crate::shard::replica::ReplicaState;
use crate::shard::select::Decision;

/// The RTP identity of an outgoing packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtpIdentity {
    pub(crate) ssrc: Ssrc,
    pub(crate) payload_type: PayloadType,
    /// SRTP index, whose low 16 bits are the sequence number.
    pub(crate) index: u64,
    /// In a retransmission, the packet's original number (RFC 4588 section 4).
    pub(crate) original: Option<SequenceNumber>,
}

/// The time of a batch, in the forms that packets need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchTime {
    pub(crate) at: Instant,
    pub(crate) send_time: [u8; 3],
}

impl BatchTime {
    pub(crate) fn new(at: Instant, clock: &Clock) -> Self {
        BatchTime {
            at,
            send_time: AbsSendTime::from_ntp(clock.ntp(at)).to_bytes(),
        }
    }
}

/// Nearly always more than the bytes before and after a packet's payload.
const OVERHEAD: usize = 60;

/// The changes to a packet for one receiver, except those that depend on when it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rewrite {
    pub(crate) identity: RtpIdentity,
    pub(crate) marker: bool,
    pub(crate) timestamp: RtpTimestamp,
    pub(crate) mid: Option<Mid>,
    pub(crate) playout_delay: Option<[u8; 3]>,
    /// Which part of the packet is its payload.
    payload: Span,
    /// The offsets of VP8's picture id and TL0PICIDX.
    pub(crate) vp8: Vp8Ids,
    pub(crate) descriptor: DescriptorChange,
    /// Bytes of padding after the payload.
    pub(crate) padding: u8,
}

impl Rewrite {
    /// The changes to `packet` for `replica`, which forwards or retransmits it, with so many bytes
    /// of padding after the payload.
    ///
    /// Inlined, or it would be written in small pieces and read back in large ones at once, for
    /// which a processor waits.
    #[inline]
    pub(crate) fn new(
        replica: &ReplicaState,
        packet: &Packet,
        payload: Span,
        identity: RtpIdentity,
        decision: &Decision,
        padding: u8,
    ) -> Self {
        let segment = replica.segment.as_ref().expect("a replica that sends has a segment");
        let (info, offsets) = (packet.info(), &segment.offsets);
        let ends_picture = decision.is_top && info.frame.as_ref().is_some_and(|frame| frame.ends);
        Rewrite {
            identity,
            marker: info.marker || ends_picture,
            timestamp: RtpTimestamp(info.timestamp.0.wrapping_add(offsets.timestamp)),
            mid: replica.entry.mid,
            playout_delay: replica
                .entry
                .playout_delay
                .map(|delay| delay.with_publishers(info.playout_delay).to_bytes()),
            payload,
            vp8: offsets.vp8.minus_pictures(decision.held_back),
            descriptor: DescriptorChange {
                frame_offset: offsets.frame,
                active: info.frame.as_ref().and_then(|frame| told(frame, &decision.active)),
                kept_before: decision.kept_before,
            },
            padding,
        }
    }

    pub(crate) fn is_retransmission(&self) -> bool {
        self.identity.original.is_some()
    }

    /// Gives a retransmission its own number.
    pub(crate) fn number(&mut self, index: u64) {
        self.identity.index = index;
    }

    /// The part of the packet that is sent as its payload.
    pub(crate) fn payload<'a>(&self, packet: &'a Packet) -> &'a [u8] {
        packet.part(self.payload)
    }

    /// Its length on the wire, approximately.
    pub(crate) fn size(&self, packet: &Packet) -> usize {
        self.payload(packet).len() + OVERHEAD
    }

    pub(crate) fn header(&self) -> RtpHeader<'static> {
        RtpHeader {
            has_padding: false,
            marker: self.marker,
            payload_type: self.identity.payload_type,
            sequence: SequenceNumber(self.identity.index as u16),
            timestamp: self.timestamp,
            ssrc: self.identity.ssrc,
            csrcs: wire::Csrcs::NONE,
        }
    }
}
