//! One stream: what arrived, each number once.

mod cache;
mod frame_wait;

use dataplane::{Clock, Stream, StreamFormat, StreamKey, StreamStatistics};
use wire::extension::PlayoutDelay;
use wire::{Mid, NtpTime, PayloadType, RtpTimestamp, Ssrc};

use self::cache::Cache;
use self::frame_wait::FrameWait;
use crate::channel::Generation;
use crate::replay_window::SequenceWindow;
use crate::shard::packet::PacketInfo;
use crate::shard::packet::frame::FrameReader;

/// A stream, in the shard that owns its leg.
#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) key: StreamKey,
    pub(crate) generation: Generation,
    pub(crate) entry: Stream,
    /// Whether an offload sends copies of it.
    pub(crate) is_copied: bool,
    /// Numbers received under the stream's own SSRC, and under that of its retransmissions.
    pub(crate) direct: SequenceWindow,
    pub(crate) rtx: SequenceWindow,
    /// Media received either way.
    pub(crate) media: SequenceWindow,
    pub(crate) frames: FrameReader,
    pub(crate) frame_wait: FrameWait,
    /// The playout delay its publisher asked for last.
    playout_delay: Option<PlayoutDelay>,
    pub(crate) cache: Cache,
    pub(crate) listeners: Listeners,
    pub(crate) statistics: StreamStatistics,
    jitter_sixteenths: u32,
    transit: Option<u32>,
}

/// Which other shards have replicas of a stream, one bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Listeners {
    pub(crate) shards: u64,
    /// Incremented when a shard is added, so that "no replica here" can be told from "no replica
    /// here any more".
    pub(crate) epoch: u32,
}

impl Listeners {
    pub(crate) fn add(&mut self, shard: usize) {
        self.shards |= 1 << shard;
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// A shard reports that no replica there follows the stream, as of `epoch`.
    pub(crate) fn quiet(&mut self, shard: usize, epoch: u32) {
        if self.epoch == epoch {
            self.shards &= !(1 << shard);
        }
    }
}

impl StreamState {
    pub(crate) fn new(key: StreamKey, generation: Generation, entry: Stream) -> Self {
        StreamState {
            key,
            generation,
            is_copied: false,
            direct: SequenceWindow::new(),
            rtx: SequenceWindow::new(),
            media: SequenceWindow::new(),
            frames: FrameReader::default(),
            frame_wait: FrameWait::default(),
            playout_delay: None,
            cache: Cache::new(entry.kind),
            listeners: Listeners::default(),
            statistics: StreamStatistics::default(),
            jitter_sixteenths: 0,
            transit: None,
            entry,
        }
    }

    pub(crate) fn replace(&mut self, entry: Stream) {
        self.cache.reshape(entry.kind);
        self.entry = entry;
    }

    /// Numbers received under one of its SSRCs.
    pub(crate) fn window(&mut self, ssrc: Ssrc) -> &mut SequenceWindow {
        if self.key.ssrc == ssrc {
            &mut self.direct
        } else {
            &mut self.rtx
        }
    }

    /// Whether a packet with this media section may be of the stream.
    #[inline]
    pub(crate) fn is_of(&self, mid: Option<&[u8]>) -> bool {
        mid.is_none_or(|said| {
            let said = Mid::from_bytes(said).zip(self.entry.mid);
            said.is_none_or(|(said, own)| said == own)
        })
    }

    /// The SSRCs this stream arrives on.
    pub(crate) fn ssrcs(&self) -> impl Iterator<Item = Ssrc> {
        [Some(self.key.ssrc), self.entry.rtx].into_iter().flatten()
    }

    pub(crate) fn format(&self, payload_type: PayloadType) -> Option<StreamFormat> {
        let mut formats = self.entry.formats.iter();
        formats.find(|format| format.payload_type == payload_type).copied()
    }

    /// The format whose retransmissions carry `payload_type`.
    pub(crate) fn format_of_rtx(&self, payload_type: PayloadType) -> Option<StreamFormat> {
        let mut formats = self.entry.formats.iter();
        formats.find(|format| format.rtx == Some(payload_type)).copied()
    }

    /// The sender's wall clock when it captured what has this timestamp.
    pub(crate) fn capture(&self, timestamp: RtpTimestamp, clock_rate: u32) -> Option<NtpTime> {
        let (ntp, rtp) = self.entry.reference?;
        let ticks = i64::from(timestamp.distance_from(rtp));
        Some(NtpTime(
            ntp.0.wrapping_add_signed((ticks << 32) / i64::from(clock_rate)),
        ))
    }

    /// The playout delay that applies to a packet whose extension says `said`.
    pub(crate) fn playout_delay(&mut self, said: Option<PlayoutDelay>, newest: bool) -> Option<PlayoutDelay> {
        if let (Some(said), true) = (said, newest) {
            self.playout_delay = Some(said);
        }
        said.or(self.playout_delay)
    }

    /// Counts a media packet of `size` bytes that has just passed the media window.
    pub(crate) fn count(&mut self, info: &PacketInfo, size: usize, recovered: bool, clock: &Clock) {
        if self.statistics.packets == 0 {
            self.statistics.first = info.number;
        }
        self.statistics.packets += 1;
        self.statistics.octets += size as u64;
        self.statistics.highest = self.media.highest();
        if info.newest && !recovered {
            self.count_jitter(info, clock);
        }
    }

    /// RFC 3550 appendix A.8.
    fn count_jitter(&mut self, info: &PacketInfo, clock: &Clock) {
        let rate = u64::from(info.codec.clock_rate());
        let since = info.at.saturating_duration_since(clock.origin);
        let fraction = u64::from(since.subsec_nanos()) * rate / 1_000_000_000;
        let arrival = since.as_secs().wrapping_mul(rate).wrapping_add(fraction) as u32;
        let transit = arrival.wrapping_sub(info.timestamp.0);
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i32).unsigned_abs();
            let decay = (self.jitter_sixteenths + 8) >> 4;
            self.jitter_sixteenths = self.jitter_sixteenths.wrapping_add(difference).wrapping_sub(decay);
        }
        self.statistics.jitter = self.jitter_sixteenths >> 4;
    }
}
