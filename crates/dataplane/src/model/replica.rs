//! One replica: the packets it gets, and their numbers.
//!
//! A replica follows one stream at a time. Each period of following is a *segment*. It starts at a
//! key frame (or where another device stopped) and continues the sequence numbers, timestamps and
//! VP8 picture ids of the segment before. Within it
//!
//! - a packet that is not sent leaves no gap: later packets get numbers as if it had never existed;
//! - a packet that did not arrive leaves a gap, because the loss is real and the receiver must see
//!   it;
//! - a packet that arrives late is sent late, under the number that was left for it.
//!
//! Source: RFC 3550 section 5.1; RFC 7667 section 3.7; RFC 7741 section 4.2 for VP8's picture ids.

mod by_frames;
mod early;
mod filling;
mod going_on;
mod segment;
mod waiting;

use wire::codec::Layer;
use wire::red::RedPayload;
use wire::{Codec, PayloadType};

use super::select::{Decision, Selection, Wanted};
use super::stream::MediaPacket;
use crate::limits::ALIGNMENT_MAX_SECONDS;
use crate::{Counter, Replica, ReplicaFormat, ReplicaSnapshot, ReplicaStatistics, StreamKey, WriteError};

use by_frames::ByFrames;
use segment::{Last, Segment};
use waiting::Waiting;

pub(super) use filling::Fill;
pub(super) use segment::Vp8Ids;

#[derive(Debug)]
pub(super) struct ReplicaState {
    pub entry: Replica,
    /// The stream it follows now.
    pub current: Option<StreamKey>,
    /// It has followed one.
    followed: bool,
    /// The last segment, kept while nothing is followed: the next one continues it.
    pub segment: Option<Segment>,
    /// The state in which another device stopped, as long as nothing is followed.
    continues: Option<ReplicaSnapshot>,
    /// Packets before the key frame with which it continues, if it awaits one.
    waiting: Waiting,
    /// Another device is to continue it.
    let_go: bool,
    /// Packets that wait for the keys of its leg.
    early: Vec<MediaPacket>,
    pub statistics: ReplicaStatistics,
    pub rtx_next: u16,
}

impl ReplicaState {
    pub(crate) fn new(entry: Replica) -> Self {
        let rtx_next = entry.rtx.map_or(0, |(_, first)| first);
        ReplicaState {
            entry,
            current: None,
            followed: false,
            segment: None,
            continues: None,
            waiting: Waiting::default(),
            let_go: false,
            early: Vec::new(),
            statistics: ReplicaStatistics::default(),
            rtx_next,
        }
    }

    /// Changes what may change.
    pub(crate) fn replace(&mut self, entry: Replica) -> Result<(), WriteError> {
        let fixed = |replica: &Replica| (replica.leg, replica.ssrc, replica.rtx);
        if fixed(&entry) != fixed(&self.entry) {
            return Err(WriteError::Fixed);
        }
        if entry.first_sequence >= 1 << 15 {
            return Err(WriteError::FirstSequence);
        }
        if entry.paused || entry.source.is_none() {
            self.current = None;
            self.let_go = false;
        }
        if entry.paused || entry.source != self.entry.source {
            self.early.clear();
        }
        self.entry = entry;
        self.continues = self.continues.filter(|from| self.can_go_on(from));
        Ok(())
    }

    pub(crate) fn forget_source(&mut self, key: StreamKey) {
        if self.entry.source == Some(key) {
            self.early.clear();
        }
        self.let_go &= self.entry.source != Some(key);
        self.continues = self.continues.filter(|from| from.source != Some(key));
        self.current = self.current.filter(|current| *current != key);
        self.entry.source = self.entry.source.filter(|source| *source != key);
    }

    /// The replica's payload type for the source's, and that of its retransmissions.
    pub(crate) fn format(&self, payload_type: PayloadType) -> Option<&ReplicaFormat> {
        self.entry.formats.iter().find(|format| format.source == payload_type)
    }

    /// The part of a packet's payload that is sent; `None` when it cannot be found.
    pub(crate) fn payload<'a>(&self, packet: &'a MediaPacket) -> Option<&'a [u8]> {
        match self.format(packet.payload_type)?.primary_only && packet.codec == Codec::Red {
            true => Some(RedPayload::parse(&packet.payload).ok()?.primary().payload),
            false => Some(&packet.payload),
        }
    }

    /// The payload type of its padding; `None` when it has no retransmissions.
    pub(crate) fn padding_type(&self) -> Option<PayloadType> {
        self.entry.rtx?;
        self.entry.formats.iter().find_map(|format| format.rtx)
    }

    /// The timestamp of the newest packet that was sent.
    pub(crate) fn last_timestamp(&self) -> u32 {
        self.segment.as_ref().map_or(0, |segment| segment.last.timestamp)
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            layer: self.entry.target,
            fallback_spatial: self.entry.fallback_spatial,
        }
    }

    /// Starts to follow `key` with `packet`, which starts a key frame. Numbers for `lost` packets
    /// are left free before it.
    fn follow(&mut self, key: StreamKey, packet: &MediaPacket, lost: u64) {
        let ids = vp8_ids(packet);
        let number = packet.frame_number();
        let (egress_first, timestamp_offset, vp8_offset, frame_offset) = match &self.segment {
            None => (
                (1 << 16) + u64::from(self.entry.first_sequence),
                0,
                Vp8Ids::default(),
                0,
            ),
            Some(before) => {
                let timestamp = before.last.timestamp.wrapping_add(ticks_between(&before.last, packet));
                let ids_offset = before.last.vp8.offset_to_follow(ids);
                let frame_offset = frame_offset(before.last.frame, number);
                (
                    before.next() + lost,
                    timestamp.wrapping_sub(packet.timestamp.0),
                    ids_offset,
                    frame_offset,
                )
            }
        };
        let frame_before = self.segment.as_ref().and_then(|segment| segment.last.frame);
        self.current = Some(key);
        self.followed = true;
        self.segment = Some(Segment {
            first: packet.number,
            egress_first,
            // No packet is accounted for yet; `place` handles the first one like any other.
            newest: packet.number - 1,
            closed_up: Default::default(),
            by_frames: ByFrames::start(self.entry.rewriting, packet, egress_first),
            timestamp_offset,
            vp8_offset,
            frame_offset,
            selection: Selection::new(self.wanted()),
            last: Last {
                number: packet.number - 1,
                at: packet.at,
                capture: packet.capture,
                timestamp: 0,
                vp8: Vp8Ids::default(),
                frame: frame_before,
            },
        });
    }

    /// The number `packet` is sent with and the decision about its frame, or why it is not sent; in
    /// both cases it is accounted for.
    pub(super) fn place(
        &mut self,
        packet: &MediaPacket,
        sendable: Result<(), Counter>,
    ) -> Result<(u64, Decision), Counter> {
        let wanted = self.wanted();
        let segment = self.segment.as_mut().expect("a followed stream has a segment");
        if packet.number < segment.first {
            return Err(Counter::BeforeSwitch);
        }
        let decided = sendable.map(|()| segment.selection.decide(wanted, packet));
        let send = decided.and_then(|decision| decision.send);
        let number = match &mut segment.by_frames {
            // Of what it cannot send at all it sees nothing.
            Some(by_frames) => decided.and_then(|_| by_frames.number(packet, &segment.selection, send)),
            None => {
                segment.account(packet.number, send.is_ok());
                send.map(|()| segment.number(packet.number))
            }
        }?;
        let decision = decided?;
        if packet.number > segment.last.number {
            let ids = vp8_ids(packet).plus(segment.vp8_offset.minus_pictures(decision.held_back));
            let number = packet
                .frame_number()
                .map(|number| number.wrapping_add(segment.frame_offset));
            segment.last = Last {
                number: packet.number,
                at: packet.at,
                capture: packet.capture,
                timestamp: packet.timestamp.0.wrapping_add(segment.timestamp_offset),
                vp8: ids,
                frame: number.or(segment.last.frame),
            };
        }
        Ok((number, decision))
    }

    /// The stream and layer that it forwards, and whether it waits for a key frame.
    pub(super) fn selected(&self) -> Option<(StreamKey, Layer, bool)> {
        let selection = &self.segment.as_ref()?.selection;
        Some((self.current?, selection.layer(), selection.awaits_key_frame))
    }
}

/// The offset for frame numbers to increase across a switch. Zero where they do already, as between
/// the encodings of a sender that numbers their frames together.
fn frame_offset(last: Option<u16>, first: Option<u16>) -> u16 {
    match (last, first) {
        (Some(last), Some(first)) if first.wrapping_sub(last) as i16 <= 0 => last.wrapping_add(1).wrapping_sub(first),
        _ => 0,
    }
}

/// Timestamp units between the last packet of one segment and the first of the next: at least one.
///
/// By the senders' wall clocks where both packets have a sender report and they agree with reason;
/// else by when they arrived.
fn ticks_between(last: &Last, packet: &MediaPacket) -> u32 {
    let rate = i128::from(packet.codec.clock_rate());
    let captured = match (last.capture, packet.capture) {
        (Some(last), Some(new)) => Some(new.0.wrapping_sub(last.0) as i64),
        _ => None,
    };
    let ticks = match captured.filter(|elapsed| elapsed.unsigned_abs() >> 32 < ALIGNMENT_MAX_SECONDS as u64) {
        Some(elapsed) => (i128::from(elapsed) * rate) >> 32,
        None => packet.at.saturating_duration_since(last.at).as_nanos() as i128 * rate / 1_000_000_000,
    };
    ticks.max(1) as u32
}

fn vp8_ids(packet: &MediaPacket) -> Vp8Ids {
    if packet.codec != Codec::Vp8 {
        return Vp8Ids::default();
    }
    Vp8Ids::read(&packet.payload)
}
