//! One replica: which packets it gets, and under which number.

use dataplane::limits::ALIGNMENT_MAX_SECONDS;
use dataplane::{Counter, Replica, ReplicaFormat, ReplicaId, ReplicaStatistics};
use wire::PayloadType;

use super::header::vp8_ids;
use super::packet::{Facts, Packet};
use super::segment::{Last, Place, Segment, Vp8Ids};
use super::{Life, Source};

/// A replica, in the shard that owns its leg.
#[derive(Debug)]
pub(crate) struct ReplicaState {
    pub(crate) id: ReplicaId,
    /// The entry; what it says of the source is in `source` and `current`.
    pub(crate) entry: Replica,
    /// The place of its leg.
    pub(crate) leg: usize,
    /// Where it should come from.
    pub(crate) source: Option<Source>,
    /// Where it comes from now.
    pub(crate) current: Option<Source>,
    /// The last segment, kept while nothing is followed: the next one continues it.
    pub(crate) segment: Option<Segment>,
    /// How many segments there were: tells whether an answer from another shard still fits.
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
            segments: 0,
            statistics: ReplicaStatistics::default(),
        }
    }

    /// Changes what may change.
    pub(crate) fn replace(&mut self, entry: Replica, source: Option<Source>) {
        if entry.paused || source.is_none() {
            self.current = None;
        }
        self.source = source;
        self.entry = entry;
    }

    pub(crate) fn forget(&mut self, life: Life) {
        self.source = self.source.filter(|source| source.life != life);
        self.current = self.current.filter(|current| current.life != life);
    }

    /// The streams whose packets it must see.
    pub(crate) fn follows(&self) -> [Option<Life>; 2] {
        let life = |source: Option<Source>| source.map(|source| source.life);
        let (source, current) = (life(self.source), life(self.current));
        [source, current.filter(|current| Some(*current) != source)]
    }

    /// The replica's payload type for the source's, and that of its retransmissions.
    pub(crate) fn format(&self, payload_type: PayloadType) -> Option<ReplicaFormat> {
        let mut formats = self.entry.formats.iter();
        formats.find(|format| format.source == payload_type).copied()
    }

    /// Whether it follows the stream of this packet.
    pub(crate) fn is_following(&self, facts: &Facts) -> bool {
        self.current.is_some_and(|current| current.life == facts.life)
    }

    /// Whether `packet`, of a stream it does not follow yet, is one to begin with.
    pub(crate) fn may_start(&self, facts: &Facts) -> Result<(), Counter> {
        match facts.newest && facts.starts {
            true => Ok(()),
            false => Err(Counter::AwaitingKeyFrame),
        }
    }

    /// Starts to follow the source it should come from with `packet`; returns what it followed before.
    pub(crate) fn follow(&mut self, packet: &Packet) -> Option<Source> {
        let facts = packet.facts();
        let (egress_first, timestamp_offset, vp8_offset) = match &self.segment {
            None => ((1 << 16) + u64::from(self.entry.first_sequence), 0, Vp8Ids::default()),
            Some(before) => {
                let timestamp = before.last.timestamp.wrapping_add(ticks_between(&before.last, facts));
                (
                    before.next(),
                    timestamp.wrapping_sub(facts.timestamp.0),
                    before.last.vp8.offset_to_follow(vp8_ids(packet)),
                )
            }
        };
        let last = Last {
            number: facts.number - 1,
            at: facts.at,
            capture: facts.capture,
            timestamp: 0,
            vp8: Vp8Ids::default(),
        };
        self.segment = Some(Segment::start(
            facts.number,
            egress_first,
            timestamp_offset,
            vp8_offset,
            last,
        ));
        self.segments = self.segments.wrapping_add(1);
        std::mem::replace(&mut self.current, self.source)
    }

    /// The number `packet` goes out under, or why it does not; either way it is accounted for.
    pub(crate) fn place(&mut self, packet: &Packet, send: Result<(), Counter>) -> Result<u64, Counter> {
        let facts = packet.facts();
        let segment = self.segment.as_mut().expect("a followed stream has a segment");
        let place = segment.account(facts.number, send.is_ok());
        if place == Place::BeforeStart {
            return Err(Counter::BeforeSwitch);
        }
        send?;
        if facts.number > segment.last.number {
            segment.last = Last {
                number: facts.number,
                at: facts.at,
                capture: facts.capture,
                timestamp: facts.timestamp.0.wrapping_add(segment.timestamp_offset),
                vp8: vp8_ids(packet).plus(segment.vp8_offset),
            };
        }
        Ok(segment.number(facts.number))
    }

    pub(crate) fn report(&self) -> ReplicaStatistics {
        ReplicaStatistics {
            source: self.current.map(|current| current.key),
            timestamp_offset: self.segment.as_ref().map_or(0, |segment| segment.timestamp_offset),
            ..self.statistics
        }
    }
}

/// Timestamp units between the last packet of one segment and the first of the next: at least one.
///
/// By the senders' wall clocks where both packets have a sender report and they agree with reason; else by when they arrived.
fn ticks_between(last: &Last, first: &Facts) -> u32 {
    let rate = i128::from(first.codec.clock_rate());
    let captured = last
        .capture
        .zip(first.capture)
        .map(|(last, first)| first.0.wrapping_sub(last.0) as i64);
    let believed = captured.filter(|elapsed| elapsed.unsigned_abs() >> 32 < ALIGNMENT_MAX_SECONDS as u64);
    let ticks = match believed {
        Some(elapsed) => (i128::from(elapsed) * rate) >> 32,
        None => first.at.saturating_duration_since(last.at).as_nanos() as i128 * rate / 1_000_000_000,
    };
    ticks.max(1) as u32
}
