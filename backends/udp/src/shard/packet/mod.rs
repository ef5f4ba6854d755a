//! A media packet in clear, and its description.

pub(crate) mod extensions;
pub(crate) mod frame;
pub(crate) mod outcome;
pub(crate) mod pool;
pub(crate) mod vp8;

use std::time::Instant;

use wire::codec::vp8::Vp8Descriptor;
use wire::extension::PlayoutDelay;
use wire::{Codec, MediaKind, NtpTime, PayloadType, RtpTimestamp};

use crate::channel::Generation;
use crate::shard::packet::extensions::Extensions;
use crate::shard::packet::frame::Frame;
use crate::shard::packet::outcome::Outcome;
use crate::shard::packet::vp8::Vp8Ids;

/// A received packet in clear, and everything about it that does not depend on a receiver.
#[derive(Debug)]
pub(crate) struct Packet {
    /// `None` in a buffer that has no packet in it yet.
    info: Option<PacketInfo>,
    pub(crate) outcome: Outcome,
    pub(crate) bytes: Box<[u8]>,
}

/// The description of a packet, made once.
#[derive(Clone, Debug)]
pub(crate) struct PacketInfo {
    pub(crate) generation: Generation,
    pub(crate) at: Instant,
    /// Extended sequence number.
    pub(crate) number: u64,
    /// Whether it was the newest of its stream when it arrived.
    pub(crate) newest: bool,
    pub(crate) marker: bool,
    pub(crate) kind: MediaKind,
    /// Whether an offload sends copies of its stream.
    pub(crate) is_copied: bool,
    pub(crate) payload_type: PayloadType,
    pub(crate) codec: Codec,
    pub(crate) timestamp: RtpTimestamp,
    /// When it was captured by the sender's wall clock, once a sender report has said so.
    pub(crate) capture: Option<NtpTime>,
    /// Whether a replica may start here.
    pub(crate) starts: bool,
    /// The payload descriptor, where it is rewritten.
    pub(crate) vp8: Option<Vp8Descriptor>,
    /// Its header extensions, as received.
    pub(crate) extensions: Extensions,
    /// The playout delay its publisher asked for last, with this packet or an earlier one.
    pub(crate) playout_delay: Option<PlayoutDelay>,
    /// Its frame, if the stream has layers.
    pub(crate) frame: Option<Frame>,
    /// The span of the payload, padding excluded.
    pub(crate) payload: Span,
    /// The span of the newest frame, of redundant audio.
    pub(crate) primary: Option<Span>,
}

/// Some of a packet's bytes: from, to.
pub(crate) type Span = (u16, u16);

impl Packet {
    pub(crate) fn with_room(room: usize) -> Self {
        Packet {
            info: None,
            outcome: Outcome::default(),
            bytes: vec![0; room].into_boxed_slice(),
        }
    }

    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn describe(&mut self, info: PacketInfo) {
        self.info = Some(info);
    }

    pub(crate) fn info(&self) -> &PacketInfo {
        self.info
            .as_ref()
            .expect("a packet is described before it is passed on")
    }

    pub(crate) fn payload(&self) -> &[u8] {
        self.part(self.info().payload)
    }

    pub(crate) fn part(&self, (from, to): Span) -> &[u8] {
        &self.bytes[usize::from(from)..usize::from(to)]
    }

    /// The running counters in a VP8 payload; those it does not carry are zero, as are those of
    /// other codecs.
    pub(crate) fn vp8_ids(&self) -> Vp8Ids {
        self.info().vp8.map_or(Vp8Ids::default(), |descriptor| Vp8Ids {
            picture: descriptor.picture_id.map_or(0, |id| id.value()),
            tl0: descriptor.tl0_pic_idx.unwrap_or(0),
        })
    }
}
