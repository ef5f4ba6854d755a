//! One stream: what arrived, each number once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use wire::extension::PlayoutDelay;
use wire::{Codec, ExtensionKind, MediaKind, NtpTime, PayloadType, RtpTimestamp, Unwrapper};

use super::frame::{Frame, FrameId, FrameReader};
use crate::limits::{CACHE_AUDIO, CACHE_VIDEO, REORDER_MAX};
use crate::{Clock, Counter, Stream, StreamFormat, StreamStatistics};

/// A media packet in clear, with its place in its stream.
#[derive(Clone, Debug)]
pub(super) struct MediaPacket {
    pub at: Instant,
    /// Extended sequence number.
    pub number: u64,
    /// Whether it was the newest of its stream when it arrived.
    pub newest: bool,
    pub marker: bool,
    pub payload_type: PayloadType,
    pub codec: Codec,
    pub timestamp: RtpTimestamp,
    /// When it was captured by the sender's wall clock, once a sender report has said so.
    pub capture: Option<NtpTime>,
    pub extensions: Vec<(ExtensionKind, Vec<u8>)>,
    /// The playout delay its publisher asked for last, with this packet or an earlier one.
    pub playout_delay: Option<PlayoutDelay>,
    /// Its frame, if the stream has layers.
    pub frame: Option<Frame>,
    /// Without padding. Empty when there was only padding.
    pub payload: Vec<u8>,
}

impl MediaPacket {
    /// The dependency descriptor's number of its frame.
    pub(crate) fn frame_number(&self) -> Option<u16> {
        match self.frame.as_ref()?.id {
            FrameId::Number(number) => Some(number as u16),
            FrameId::Picture(..) => None,
        }
    }

    /// Whether a replica may start here.
    pub(crate) fn starts_key_frame(&self) -> bool {
        let by_descriptor = self.frame.as_ref().and_then(Frame::starts_key_frame);
        by_descriptor.unwrap_or_else(|| wire::codec::is_key_frame_start(self.codec, &self.payload))
    }
}

/// The numbers of one SSRC that have been received.
#[derive(Debug, Default)]
pub(super) struct Window {
    unwrapper: Unwrapper,
    seen: BTreeSet<u64>,
}

impl Window {
    /// The extended number of a new packet, or why it is not one.
    pub(crate) fn receive(&mut self, sequence: u16) -> Result<u64, Counter> {
        let number = self.unwrapper.peek(sequence);
        if self
            .unwrapper
            .highest()
            .is_some_and(|highest| number + REORDER_MAX <= highest)
        {
            return Err(Counter::TooLate);
        }
        if !self.seen.insert(number) {
            return Err(Counter::Duplicate);
        }
        self.unwrapper.extend(sequence);
        let highest = self.highest();
        self.seen.retain(|seen| seen + REORDER_MAX > highest);
        Ok(number)
    }

    pub(crate) fn highest(&self) -> u64 {
        self.unwrapper.highest().unwrap_or(0)
    }

    /// Whether a number is higher than all that were received.
    pub(crate) fn is_newest(&self, sequence: u16) -> bool {
        self.unwrapper.peek(sequence) > self.highest()
    }
}

#[derive(Debug)]
pub(super) struct StreamState {
    pub entry: Stream,
    /// Packets received under the stream's own SSRC, and under that of its retransmissions.
    pub direct: Window,
    pub rtx: Window,
    /// Media received either way.
    pub media: Window,
    pub frames: FrameReader,
    /// The playout delay its publisher asked for last.
    pub playout_delay: Option<PlayoutDelay>,
    pub cache: BTreeMap<u64, MediaPacket>,
    pub statistics: StreamStatistics,
    /// Whether an offload sends copies of it.
    pub is_copied: bool,
    jitter_sixteenths: u32,
    transit: Option<u32>,
}

impl StreamState {
    pub(crate) fn new(entry: Stream) -> Self {
        StreamState {
            entry,
            direct: Window::default(),
            rtx: Window::default(),
            media: Window::default(),
            frames: FrameReader::default(),
            playout_delay: None,
            cache: BTreeMap::new(),
            statistics: StreamStatistics::default(),
            is_copied: false,
            jitter_sixteenths: 0,
            transit: None,
        }
    }

    /// The numbers received under the stream's own SSRC, or under that of its retransmissions.
    pub(crate) fn window(&mut self, is_direct: bool) -> &mut Window {
        if is_direct { &mut self.direct } else { &mut self.rtx }
    }

    pub(crate) fn format(&self, payload_type: PayloadType) -> Option<StreamFormat> {
        self.entry
            .formats
            .iter()
            .find(|format| format.payload_type == payload_type)
            .copied()
    }

    /// The format whose retransmissions carry `payload_type`.
    pub(crate) fn format_of_rtx(&self, payload_type: PayloadType) -> Option<StreamFormat> {
        self.entry
            .formats
            .iter()
            .find(|format| format.rtx == Some(payload_type))
            .copied()
    }

    /// The sender's wall clock when it captured what has this timestamp.
    pub(crate) fn capture(&self, timestamp: RtpTimestamp, clock_rate: u32) -> Option<NtpTime> {
        let (ntp, rtp) = self.entry.reference?;
        let ticks = i64::from(timestamp.distance_from(rtp));
        let fraction = (i128::from(ticks) << 32) / i128::from(clock_rate);
        Some(NtpTime(ntp.0.wrapping_add(fraction as u64)))
    }

    /// The playout delay that applies to a packet whose extension says `said`.
    pub(crate) fn hold_playout_delay(&mut self, said: Option<PlayoutDelay>, newest: bool) -> Option<PlayoutDelay> {
        if newest {
            self.playout_delay = said.or(self.playout_delay);
        }
        said.or(self.playout_delay)
    }

    /// Counts a media packet and keeps it for retransmission.
    pub(crate) fn keep(&mut self, packet: &MediaPacket, size: usize, recovered: bool, clock: &Clock) {
        let statistics = &mut self.statistics;
        if statistics.packets == 0 {
            statistics.first = packet.number;
        }
        statistics.packets += 1;
        statistics.octets += size as u64;
        statistics.highest = self.media.highest();
        if packet.newest && !recovered {
            self.count_jitter(packet, clock);
        }
        let kept = if self.entry.kind == MediaKind::Video {
            CACHE_VIDEO
        } else {
            CACHE_AUDIO
        };
        let highest = self.media.highest();
        self.cache.insert(packet.number, packet.clone());
        self.cache.retain(|number, _| number + kept > highest);
    }

    /// RFC 3550 appendix A.8.
    fn count_jitter(&mut self, packet: &MediaPacket, clock: &Clock) {
        let rate = u128::from(packet.codec.clock_rate());
        let since = packet.at.saturating_duration_since(clock.origin).as_nanos();
        let arrival = (since * rate / 1_000_000_000) as u32;
        let transit = arrival.wrapping_sub(packet.timestamp.0);
        if let Some(previous) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(previous) as i32).unsigned_abs();
            let decay = (self.jitter_sixteenths + 8) >> 4;
            self.jitter_sixteenths = self.jitter_sixteenths.wrapping_add(difference).wrapping_sub(decay);
        }
        self.statistics.jitter = self.jitter_sixteenths >> 4;
    }
}
