//! One replica: which packets it gets, and under which numbers.

pub(crate) mod early;
pub(crate) mod frame_numbering;
mod resuming;
pub(crate) mod segment;
mod waiting;

use std::time::Instant;

use dataplane::{Counter, Replica, ReplicaFormat, ReplicaId, ReplicaSnapshot, ReplicaStatistics, StreamKey};
use wire::codec::Layer;
use wire::{Codec, PayloadType};

use crate::channel::{Generation, Source};
use crate::shard::packet::frame::Frame;
use crate::shard::packet::vp8::Vp8Ids;
use crate::shard::packet::{Packet, PacketInfo, Span};
use crate::shard::replica::early::Early;
use crate::shard::replica::frame_numbering::FrameNumbering;
use crate::shard::replica::segment::{Last, Offsets, Segment, frame_offset, ticks_between};
use crate::shard::replica::waiting::Waiting;
use crate::shard::select::{Decision, Selection, Wanted};

/// A replica, in the shard that owns its leg.
#[derive(Debug)]
pub(crate) struct ReplicaState {
    pub(crate) id: ReplicaId,
    /// The entry, whose source is in `source` and `current`.
    pub(crate) entry: Replica,
    /// The slot of its leg.
    pub(crate) leg: usize,
    /// The stream it should follow.
    pub(crate) source: Option<Source>,
    /// The stream it follows now.
    pub(crate) current: Option<Source>,
    /// The last segment, kept while it follows nothing: the next one continues it.
    pub(crate) segment: Option<Segment>,
    /// The snapshot of another device, as long as it follows nothing.
    continues: Option<Box<ReplicaSnapshot>>,
    /// Packets before the key frame with which it continues, if it awaits one.
    waiting: Waiting,
    /// Whether it was released to another device.
    released: bool,
    /// Packets that wait for the keys of its leg.
    pub(crate) early: Early,
    /// The selection of layers of the stream.
    pub(crate) selection: Selection,
    /// How many segments there were: an answer from another shard must match.
    pub(crate) segments: u32,
    pub(crate) statistics: ReplicaStatistics,
    /// SRTP index of the next retransmission.
    pub(crate) rtx_next: u64,
}

impl ReplicaState {
    pub(crate) fn new(id: ReplicaId, entry: Replica, leg: usize, source: Option<Source>) -> Self {
        ReplicaState {
            id,
            rtx_next: entry.rtx.map_or(0, |(_, first)| u64::from(first)),
            entry,
            leg,
            source,
            current: None,
            segment: None,
            continues: None,
            waiting: Waiting::default(),
            released: false,
            early: Early::default(),
            selection: Selection::new(),
            segments: 0,
            statistics: ReplicaStatistics::default(),
        }
    }

    /// Replaces the entry.
    pub(crate) fn replace(&mut self, entry: Replica, source: Option<Source>) {
        if entry.paused || source.is_none() {
            self.current = None;
            self.released = false;
        }
        let generation = |source: Option<Source>| source.map(|source| source.generation);
        if entry.paused || generation(source) != generation(self.source) {
            self.early.forget();
        }
        self.source = source;
        self.entry = entry;
        self.continues = self.continues.take().filter(|from| self.can_resume(from));
    }

    /// Whether it has followed nothing yet, and may.
    pub(crate) fn may_fill(&self) -> bool {
        self.segments == 0 && !self.entry.paused && !self.released && self.continues.is_none()
    }

    /// Number and timestamp of a packet in place of media.
    pub(crate) fn next_fill(&self, now: Instant, clock_rate: u32) -> (u64, u32) {
        let Some(before) = &self.segment else {
            return ((1 << 16) + u64::from(self.entry.first_sequence), 0);
        };
        let elapsed = now.saturating_duration_since(before.last.at).as_nanos();
        let ticks = (elapsed * u128::from(clock_rate) / 1_000_000_000).max(1) as u32;
        (before.next(), before.last.timestamp.wrapping_add(ticks))
    }

    /// Records a packet in place of media. Media continues after it.
    pub(crate) fn filled(&mut self, now: Instant, number: u64, timestamp: u32) {
        let last = Last {
            number: (1 << 16) - 1,
            at: now,
            capture: None,
            timestamp,
            vp8: Vp8Ids::default(),
            frame: None,
        };
        self.segment = Some(Segment::start(1 << 16, number + 1, Offsets::default(), last));
    }

    /// Sends no more until it is resumed.
    pub(crate) fn release(&mut self) {
        self.released = true;
        self.current = None;
        self.continues = None;
        self.early.forget();
    }

    pub(crate) fn forget(&mut self, generation: Generation) {
        if self.source.is_some_and(|source| source.generation == generation) {
            self.early.forget();
        }
        self.continues = self
            .continues
            .take()
            .filter(|_| self.source.is_none_or(|source| source.generation != generation));
        self.released &= self.source.is_none_or(|source| source.generation != generation);
        self.source = self.source.filter(|source| source.generation != generation);
        self.current = self.current.filter(|current| current.generation != generation);
    }

    /// The streams it follows or waits for.
    pub(crate) fn follows(&self) -> [Option<Generation>; 2] {
        let generation = |source: Option<Source>| source.map(|source| source.generation);
        let (source, current) = (generation(self.source), generation(self.current));
        [source, current.filter(|current| Some(*current) != source)]
    }

    /// The replica's payload type for the source's, and that of its retransmissions.
    pub(crate) fn format(&self, payload_type: PayloadType) -> Option<ReplicaFormat> {
        let mut formats = self.entry.formats.iter();
        formats.find(|format| format.source == payload_type).copied()
    }

    /// The span that it sends of a packet of this format; `None` when it cannot be found.
    pub(crate) fn payload(&self, format: &ReplicaFormat, info: &PacketInfo) -> Option<Span> {
        match format.primary_only && info.codec == Codec::Red {
            true => info.primary,
            false => Some(info.payload),
        }
    }

    /// The payload type that padding is sent with, if there are retransmissions.
    pub(crate) fn padding_type(&self) -> Option<PayloadType> {
        self.entry.rtx?;
        self.entry.formats.iter().find_map(|format| format.rtx)
    }

    /// The stream it forwards, the highest layer it gets, and whether it waits for a key frame.
    pub(crate) fn selected(&self) -> Option<(StreamKey, Layer, bool)> {
        let (layer, awaits_key_frame) = self.selection.report();
        Some((self.current?.key, layer, awaits_key_frame))
    }

    /// Whether it follows the stream of this packet.
    pub(crate) fn is_following(&self, info: &PacketInfo) -> bool {
        self.current
            .is_some_and(|current| current.generation == info.generation)
    }

    /// Begins to follow its source with `packet`, if that is one to begin with; returns the stream
    /// it followed before.
    pub(crate) fn begin(&mut self, packet: &Packet) -> Result<Option<Source>, Counter> {
        let info = packet.info();
        if self.released {
            return Err(Counter::Paused);
        }
        if let Some(from) = self.continues.as_ref().filter(|from| self.can_resume(from)) {
            if from.awaits_key_frame {
                let lost = self.waiting.lost_before(from, info.number);
                self.continues = None;
                return Ok(self.follow(packet, lost));
            }
            let ahead = from.ahead(info.number as u16).ok_or(Counter::BeforeSwitch)?;
            return Ok(self.resume(ahead, info));
        }
        match info.newest && info.starts {
            true => Ok(self.follow(packet, 0)),
            false => Err(Counter::AwaitingKeyFrame),
        }
    }

    /// Starts to follow its source with `packet`, before which numbers for `lost` packets are left
    /// free; returns the stream it followed before.
    fn follow(&mut self, packet: &Packet, lost: u64) -> Option<Source> {
        let info = packet.info();
        let number = info.frame.as_ref().and_then(Frame::number);
        let (egress_first, offsets) = match &self.segment {
            None => ((1 << 16) + u64::from(self.entry.first_sequence), Offsets::default()),
            Some(before) => {
                let timestamp = before.last.timestamp.wrapping_add(ticks_between(&before.last, info));
                let offsets = Offsets {
                    timestamp: timestamp.wrapping_sub(info.timestamp.0),
                    vp8: before.last.vp8.offset_to_follow(packet.vp8_ids()),
                    frame: frame_offset(before.last.frame, number),
                };
                (before.next() + lost, offsets)
            }
        };
        let last = Last {
            number: info.number - 1,
            at: info.at,
            capture: info.capture,
            timestamp: 0,
            vp8: Vp8Ids::default(),
            frame: self.segment.as_ref().and_then(|before| before.last.frame),
        };
        let frame_numbering = FrameNumbering::start(self.entry.rewriting, info, egress_first);
        let segment = Segment::start(info.number, egress_first, offsets, last);
        self.segment = Some(segment.numbered(frame_numbering));
        self.selection.restart(Wanted::of(&self.entry));
        self.segments = self.segments.wrapping_add(1);
        std::mem::replace(&mut self.current, self.source)
    }

    /// The number of `packet` and the decision about its frame, or why it is not sent; either way
    /// it is accounted for. When it `is_late` only the lowest temporal layer is sent.
    #[inline]
    pub(crate) fn decide(
        &mut self,
        packet: &Packet,
        sendable: Result<(), Counter>,
        is_late: bool,
    ) -> Result<(u64, Decision), Counter> {
        let info = packet.info();
        let wanted = Wanted::of(&self.entry);
        let segment = self.segment.as_mut().expect("a followed stream has a segment");
        if segment.starts_behind(info.number) {
            return Err(Counter::BeforeSwitch);
        }
        let is_sendable = sendable.is_ok();
        let decision = match (sendable, &info.frame) {
            (Ok(()), Some(frame)) => self.selection.decide(wanted, is_late, info.codec, frame, info.marker),
            (Ok(()), None) => self.selection.without_layers(Ok(())),
            (Err(reason), _) => self.selection.without_layers(Err(reason)),
        };
        let number = match &mut segment.frame_numbering {
            None => {
                segment.account(info.number, decision.send.is_ok());
                decision.send.map(|()| segment.number(info.number))
            }
            Some(frame_numbering) if is_sendable => {
                frame_numbering.number(info, self.selection.temporal(), decision.send)
            }
            Some(_) => Err(decision.send.err().unwrap_or(Counter::NotSelected)),
        }?;
        if info.number > segment.last.number {
            let frame = info.frame.as_ref().and_then(Frame::number);
            let offsets = &segment.offsets;
            segment.last = Last {
                number: info.number,
                at: info.at,
                capture: info.capture,
                timestamp: info.timestamp.0.wrapping_add(offsets.timestamp),
                vp8: packet.vp8_ids().plus(offsets.vp8.minus_pictures(decision.held_back)),
                frame: frame.map_or(segment.last.frame, |number| Some(number.wrapping_add(offsets.frame))),
            };
        }
        Ok((number, decision))
    }

    pub(crate) fn report(&self) -> ReplicaStatistics {
        ReplicaStatistics {
            source: self.current.map(|current| current.key),
            timestamp_offset: self.segment.as_ref().map_or(0, |segment| segment.offsets.timestamp),
            ..self.statistics
        }
    }
}
