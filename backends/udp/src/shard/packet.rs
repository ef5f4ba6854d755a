//! A media packet in clear, in a buffer that is used again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use dataplane::limits::DATAGRAM_MAX;
use wire::codec::vp8::Vp8Descriptor;
use wire::extension::PlayoutDelay;
use wire::{Codec, MediaKind, NtpTime, PayloadType, RtpTimestamp};

use super::Generation;
use super::extensions::Extensions;
use super::frame::Frame;
use crate::prefetch;

/// Buffers for packets up to this size are kept apart: audio must not occupy room for video.
const SMALL: usize = 384;

/// How many unused buffers of each size a shard keeps. More than that were a burst, and go back to
/// the allocator.
const SPARE_MAX: usize = 64;

/// A packet as it came in, opened, and everything about it that does not depend on who receives it.
#[derive(Debug)]
pub(crate) struct Packet {
    /// `None` in a buffer that has no packet in it yet.
    info: Option<PacketInfo>,
    pub(crate) outcome: Outcome,
    bytes: Box<[u8]>,
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
    pub(crate) payload_type: PayloadType,
    pub(crate) codec: Codec,
    pub(crate) timestamp: RtpTimestamp,
    /// When it was captured by the sender's wall clock, once a sender report has said so.
    pub(crate) capture: Option<NtpTime>,
    /// Whether a replica may start here.
    pub(crate) starts: bool,
    /// The payload descriptor, where it is rewritten.
    pub(crate) vp8: Option<Vp8Descriptor>,
    /// Header extensions that came with it.
    pub(crate) extensions: Extensions,
    /// The playout delay its publisher asked for last, with this packet or an earlier one.
    pub(crate) playout_delay: Option<PlayoutDelay>,
    /// Its frame, if the stream has layers.
    pub(crate) frame: Option<Frame>,
    /// Where the payload is, padding excluded.
    pub(crate) payload: Span,
    /// Where the newest frame is, of redundant audio.
    pub(crate) primary: Option<Span>,
}

/// Some of a packet's bytes: from, to.
pub(crate) type Span = (u16, u16);

impl Packet {
    fn with_room(room: usize) -> Self {
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
}

/// What became of a packet in all shards together; the last shard to finish with it says the
/// verdict.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    shards_left: AtomicU32,
    followed: AtomicBool,
    sent: AtomicBool,
}

impl Outcome {
    /// Before the packet is passed on: how many shards will [`finish`](Self::finish) it.
    pub(crate) fn expect(&self, shards: u32) {
        self.shards_left.store(shards, Ordering::Relaxed);
        self.followed.store(false, Ordering::Relaxed);
        self.sent.store(false, Ordering::Relaxed);
    }

    /// Some replica gets this stream.
    pub(crate) fn followed(&self) {
        self.followed.store(true, Ordering::Relaxed);
    }

    /// Some replica got this packet.
    pub(crate) fn sent(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    /// One shard is done. The last one learns `(followed, sent)`.
    pub(crate) fn finish(&self) -> Option<(bool, bool)> {
        let last = self.shards_left.fetch_sub(1, Ordering::AcqRel) == 1;
        last.then(|| (self.followed.load(Ordering::Relaxed), self.sent.load(Ordering::Relaxed)))
    }
}

/// Unused packet buffers of one shard.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    small: Vec<Arc<Packet>>,
    large: Vec<Arc<Packet>>,
}

impl Pool {
    /// A buffer nobody else holds, with room for `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Arc<Packet> {
        let (spare, room) = match len <= SMALL {
            true => (&mut self.small, SMALL),
            false => (&mut self.large, DATAGRAM_MAX),
        };
        debug_assert!(len <= room);
        spare.pop().unwrap_or_else(|| Arc::new(Packet::with_room(room)))
    }

    /// Takes a buffer back, unless another shard still reads it: then whoever drops it last frees
    /// it.
    pub(crate) fn give(&mut self, mut packet: Arc<Packet>) {
        if Arc::get_mut(&mut packet).is_none() {
            return;
        }
        let spare = match packet.bytes.len() <= SMALL {
            true => &mut self.small,
            false => &mut self.large,
        };
        if spare.len() < SPARE_MAX {
            // The next packet is written there, and the processor goes on by itself from what it
            // begins with.
            prefetch::first(&packet.bytes);
            spare.push(packet);
        }
    }
}
